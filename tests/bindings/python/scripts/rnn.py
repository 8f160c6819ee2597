"""Sequences: an RNN written out, an LSTM tagger with packing, a GRU with teacher forcing."""
import random

import cebus as torch
import cebus.nn as nn
import cebus.nn.functional as F
import cebus.optim as optim
from cebus.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(1)
random.seed(1)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        return self.softmax(self.h2o(hidden)), hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


letters = "abcdefgh"


def lineToTensor(line):
    tensor = torch.zeros(len(line), 1, len(letters))
    for li, letter in enumerate(line):
        tensor[li][0][letters.find(letter)] = 1
    return tensor


rnn = RNN(len(letters), 16, 2)
criterion = nn.NLLLoss()
history = []
for step in range(150):
    kind = random.randint(0, 1)
    line = "".join(random.choice(letters[4 * kind:4 * kind + 4]) for _ in range(4))
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for letter in lineToTensor(line):
        output, hidden = rnn(letter, hidden)
    loss = criterion(output, torch.tensor([kind], dtype=torch.long))
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-0.1)
    history.append(loss.item())
    top_n, top_i = output.topk(1)
    assert top_i[0].item() in (0, 1)
print(sum(history[:20]) / 20, sum(history[-20:]) / 20)
assert sum(history[-20:]) < 0.5 * sum(history[:20])


def prepare_sequence(seq, to_ix):
    return torch.tensor([to_ix[w] for w in seq], dtype=torch.long)


training_data = [("The dog ate the apple".split(), ["DET", "NN", "V", "DET", "NN"]),
                 ("Everybody read that book".split(), ["NN", "V", "DET", "NN"])]
word_to_ix, tag_to_ix = {}, {"DET": 0, "NN": 1, "V": 2}
for sent, tags in training_data:
    for word in sent:
        word_to_ix.setdefault(word, len(word_to_ix))


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim, hidden_dim, vocab_size, tagset_size):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim)
        self.hidden2tag = nn.Linear(hidden_dim, tagset_size)

    def forward(self, sentence):
        embeds = self.word_embeddings(sentence)
        lstm_out, _ = self.lstm(embeds.view(len(sentence), 1, -1))
        return F.log_softmax(self.hidden2tag(lstm_out.view(len(sentence), -1)), dim=1)


model = LSTMTagger(6, 6, len(word_to_ix), 3)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for epoch in range(150):
    for sentence, tags in training_data:
        model.zero_grad()
        loss = criterion(model(prepare_sequence(sentence, word_to_ix)),
                         prepare_sequence(tags, tag_to_ix))
        loss.backward()
        optimizer.step()
with torch.no_grad():
    scores = model(prepare_sequence(training_data[0][0], word_to_ix))
    print(scores)
    assert scores.argmax(dim=1).tolist() == [0, 1, 2, 0, 1]

sequences = [torch.randn(n, 4) for n in (5, 3, 2)]
lengths = torch.tensor([len(s) for s in sequences])
padded = pad_sequence(sequences, batch_first=True)
gru = nn.GRU(4, 7, num_layers=2, bidirectional=True, batch_first=True, dropout=0.1)
packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=True)
out, h = gru(packed)
unpacked, sizes = pad_packed_sequence(out, batch_first=True)
assert unpacked.shape == (3, 5, 14) and h.shape == (4, 3, 7) and sizes.tolist() == [5, 3, 2]

lstm = nn.LSTMCell(3, 5)
hx, cx = torch.randn(2, 5), torch.randn(2, 5)
steps = []
for x in torch.randn(6, 2, 3):
    hx, cx = lstm(x, (hx, cx))
    steps.append(hx)
print(torch.stack(steps, dim=0).shape)
embedding = nn.Embedding.from_pretrained(torch.FloatTensor([[1, 2.3, 3], [4, 5.1, 6.3]]))
print(embedding(torch.LongTensor([1])))
bag = nn.EmbeddingBag(10, 3, mode="mean")
print(bag(torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4])).shape)
