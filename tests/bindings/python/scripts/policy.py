"""Policy gradients: REINFORCE and an actor and critic, on a pole that must not fall."""
import math
import random
from collections import deque, namedtuple
from itertools import count

import numpy as np

import cebus as torch
import cebus.nn as nn
import cebus.nn.functional as F
import cebus.optim as optim
from cebus.distributions import Categorical, Normal

torch.manual_seed(543)
random.seed(543)
eps = np.finfo(np.float32).eps.item()


class Pole:
    """A pole on a cart, by the equations of Barto, Sutton and Anderson 1983."""

    def reset(self):
        self.state = np.array([random.uniform(-0.05, 0.05) for _ in range(4)], dtype=np.float32)
        return self.state

    def step(self, action):
        x, v, angle, turn = map(float, self.state)
        force = 10.0 if action == 1 else -10.0
        push = (force + 0.05 * turn ** 2 * math.sin(angle)) / 1.1
        bend = (9.8 * math.sin(angle) - math.cos(angle) * push) / \
            (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        speed = push - 0.05 * bend * math.cos(angle) / 1.1
        self.state = np.array([x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * turn,
                               turn + 0.02 * bend], dtype=np.float32)
        done = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return self.state, 1.0, bool(done), {}


env = Pole()
SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 32)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = self.affine1(x)
        x = self.dropout(x)
        x = F.relu(x)
        action_scores = self.affine2(x)
        return F.softmax(action_scores, dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=3e-2)


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    policy_loss = []
    returns = deque()
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


running_reward, first = 10, None
for i_episode in range(30):
    state, ep_reward = env.reset(), 0
    for t in range(1, 120):
        action = select_action(state)
        state, reward, done, _ = env.step(action)
        policy.rewards.append(reward)
        ep_reward += reward
        if done:
            break
    running_reward = 0.1 * ep_reward + (1 - 0.1) * running_reward
    first = running_reward if i_episode == 4 else first
    finish_episode()
print(f"REINFORCE: {first:.1f} -> {running_reward:.1f}")
assert running_reward > first


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = ActorCritic()
optimizer = optim.RMSprop(model.parameters(), lr=3e-3)
for i_episode in range(5):
    state = env.reset()
    for t in count(1):
        probs, state_value = model(torch.from_numpy(state))
        m = Categorical(probs)
        action = m.sample()
        model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
        state, reward, done, _ = env.step(action.item())
        model.rewards.append(reward)
        if done or t > 60:
            break
    R, policy_losses, value_losses, returns = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
memory = deque([], maxlen=200)
q_net, target_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)), \
    nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target_net.load_state_dict(q_net.state_dict())
optimizer = optim.AdamW(q_net.parameters(), lr=1e-3, amsgrad=True)
state = torch.tensor(env.reset(), dtype=torch.float32).unsqueeze(0)
for step in range(80):
    with torch.no_grad():
        action = q_net(state).max(1)[1].view(1, 1) if random.random() > 0.3 else \
            torch.tensor([[random.randrange(2)]], dtype=torch.long)
    observation, reward, done, _ = env.step(action.item())
    next_state = None if done else torch.tensor(observation, dtype=torch.float32).unsqueeze(0)
    memory.append(Transition(state, action, next_state, torch.tensor([reward])))
    state = torch.tensor(env.reset()).unsqueeze(0) if done else next_state
    if len(memory) < 32:
        continue
    batch = Transition(*zip(*random.sample(memory, 32)))
    non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)),
                                  dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_action_values = q_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_state_values = torch.zeros(32)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1)[0]
    expected = (next_state_values * 0.99) + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(q_net.parameters(), 100)
    optimizer.step()
    target_state, q_state = target_net.state_dict(), q_net.state_dict()
    for key in q_state:
        target_state[key] = q_state[key] * 0.005 + target_state[key] * (1 - 0.005)
    target_net.load_state_dict(target_state)
print("DQN loss", loss.item())
gauss = Normal(torch.zeros(2), torch.ones(2))
assert gauss.log_prob(gauss.rsample((3,))).shape == (3, 2)
