"""Sequence to sequence with attention: reversing words, with teacher forcing and masks."""
import math
import random
import time

import cebus as torch
import cebus.nn as nn
import cebus.nn.functional as F
from cebus import optim
from cebus.utils.data import DataLoader, RandomSampler, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
random.seed(0)
SOS_token, EOS_token, MAX_LENGTH, LETTERS = 0, 1, 6, 10


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        embedded = self.dropout(self.embedding(input))
        output, hidden = self.gru(embedded)
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, keys)
        return context, weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=device).fill_(SOS_token)
        decoder_hidden = encoder_hidden
        decoder_outputs, attentions = [], []
        for i in range(MAX_LENGTH):
            decoder_output, decoder_hidden, attn_weights = self.forward_step(
                decoder_input, decoder_hidden, encoder_outputs)
            decoder_outputs.append(decoder_output)
            attentions.append(attn_weights)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = decoder_output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = torch.cat(decoder_outputs, dim=1)
        decoder_outputs = F.log_softmax(decoder_outputs, dim=-1)
        attentions = torch.cat(attentions, dim=1)
        return decoder_outputs, decoder_hidden, attentions

    def forward_step(self, input, hidden, encoder_outputs):
        embedded = self.dropout(self.embedding(input))
        query = hidden.permute(1, 0, 2)
        context, attn_weights = self.attention(query, encoder_outputs)
        input_gru = torch.cat((embedded, context), dim=2)
        output, hidden = self.gru(input_gru, hidden)
        return self.out(output), hidden, attn_weights


def get_dataloader(batch_size, n=128):
    words = torch.randint(2, 2 + LETTERS, (n, MAX_LENGTH - 1))
    ends = torch.full((n, 1), EOS_token, dtype=torch.long)
    inputs = torch.cat([words, ends], dim=1)
    targets = torch.cat([words.flip(1), ends], dim=1)
    data = TensorDataset(inputs.to(device), targets.to(device))
    return data, DataLoader(data, sampler=RandomSampler(data), batch_size=batch_size)


def timeSince(since):
    s = time.time() - since
    return "%dm %ds" % (math.floor(s / 60), s % 60)


def train_epoch(dataloader, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion):
    total_loss = 0
    for data in dataloader:
        input_tensor, target_tensor = data
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()
        encoder_outputs, encoder_hidden = encoder(input_tensor)
        decoder_outputs, _, _ = decoder(encoder_outputs, encoder_hidden, target_tensor)
        loss = criterion(decoder_outputs.view(-1, decoder_outputs.size(-1)),
                         target_tensor.view(-1))
        loss.backward()
        encoder_optimizer.step()
        decoder_optimizer.step()
        total_loss += loss.item()
    return total_loss / len(dataloader)


data, train_dataloader = get_dataloader(16)
encoder = EncoderRNN(2 + LETTERS, 32).to(device)
decoder = AttnDecoderRNN(32, 2 + LETTERS).to(device)
encoder_optimizer = optim.Adam(encoder.parameters(), lr=0.01)
decoder_optimizer = optim.Adam(decoder.parameters(), lr=0.01)
criterion = nn.NLLLoss()
start, losses = time.time(), []
for epoch in range(1, 11):
    loss = train_epoch(train_dataloader, encoder, decoder, encoder_optimizer, decoder_optimizer,
                       criterion)
    losses.append(loss)
    print("%s (%d %d%%) %.4f" % (timeSince(start), epoch, epoch * 10, loss))
assert losses[-1] < 0.6 * losses[0]
encoder.eval()
decoder.eval()
with torch.no_grad():
    pair = random.choice(data)
    outputs, hidden = encoder(pair[0].unsqueeze(0))
    decoded, _, attention = decoder(outputs, hidden)
    _, topi = decoded.topk(1)
    print(pair[1].tolist(), topi.squeeze().tolist())
    assert attention.shape == (1, MAX_LENGTH, MAX_LENGTH)
    assert torch.allclose(attention.sum(-1), torch.ones(1, MAX_LENGTH), atol=1e-5)
