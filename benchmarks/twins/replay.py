"""What reinforcement learning keeps: replay memories, rollouts, visited states, opponents, search trees."""

from __future__ import annotations

from benchmarks.twins.pair import Pair

PAIRS = (
    Pair(
        "replay_deque",
        "memory",
        """\
memory = deque()
state = batch(4)
for step in range(STEPS):
    following = batch(4)
    memory.append((state, step % 4, 1.0, following))
    state = following
    x = torch.cat([one[0] for one in random.sample(memory, min(4, len(memory)))])
    train(x)
""",
        (("deque()", "deque(maxlen=<N/2>)"),),
        "each step adds a transition to a deque without a bound",
        "the deque has maxlen and is full in the middle of the run",
    ),
    Pair(
        "replay_deque_not_full",
        "memory",
        """\
class Replay:
    def __init__(self):
        self.memory = deque()

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, count):
        return random.sample(self.memory, min(count, len(self.memory)))


replay = Replay()
for step in range(STEPS):
    replay.push(batch(4), random.randrange(4), random.random())
    train(torch.cat([state for state, action, reward in replay.sample(4)]))
""",
        (("deque()", "deque(maxlen=<2N>)"),),
        "each step adds a transition to a deque without a bound",
        "the deque has maxlen, which the run does not reach",
        full_after=2,
    ),
    Pair(
        "replay_deque_large",
        "memory",
        """\
memory = deque()
for step in range(STEPS):
    memory.append((batch(4), step % 4))
    train(torch.cat([state for state, label in random.sample(memory, min(4, len(memory)))]))
""",
        (("deque()", "deque(maxlen=1_000)"),),
        "each step adds a transition to a deque without a bound",
        "the deque has maxlen: at 1 kB each it is full at 1 MB",
        full_after=25,
    ),
    Pair(
        "replay_deque_full_at_the_end",
        "memory",
        """\
memory = deque()
for step in range(STEPS):
    memory.append((batch(4), step % 4))
    train(torch.cat([state for state, label in random.sample(memory, min(4, len(memory)))]))
""",
        (("deque()", "deque(maxlen=<N>)"),),
        "each step adds a transition to a deque without a bound",
        "the deque has maxlen and is exactly full at the last step",
    ),
    Pair(
        "replay_deque_full_near_the_end",
        "memory",
        """\
memory = deque()
for step in range(STEPS):
    memory.append((batch(4), step % 4, random.random(), batch(4)))
    if len(memory) >= 4:
        train(torch.cat([one[0] for one in random.sample(memory, 4)]))
""",
        (("deque()", "deque(maxlen=<7N/8>)"),),
        "each step adds a transition to a deque without a bound",
        "the deque has maxlen and is full shortly before the run ends",
        steps=(40, 400),
    ),
    Pair(
        "replay_learning_starts_late",
        "buf",
        """\
buf = deque()
for step in range(STEPS):
    buf.append((batch(2), torch.randint(8, (2,))))
    if step >= <N/8>:
        states, labels = zip(*random.sample(buf, 4))
        loss = nn.functional.cross_entropy(net(torch.cat(states)), torch.cat(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
        (("deque()", "deque(maxlen=<3N/4>)"),),
        "each step adds a state and a label to a deque without a bound",
        "the deque has maxlen and is full before the run ends",
        steps=(40, 400),
    ),
    Pair(
        "replay_pop_of_oldest",
        "memory",
        """\
memory, episode = [], []
for step in range(STEPS):
    x = batch()
    memory.append(x)
    episode.append(step)
    if step % 4 == 3:
        episode = []
    if len(episode) > <N/2>:
        memory.pop(0)
    train(random.choice(memory))
""",
        (("len(episode) > <N/2>", "len(memory) > <N/2>"),),
        "the limit is compared with the length of another list, which is short",
        "the oldest item goes when the limit is passed",
    ),
    Pair(
        "replay_ring_of_keys",
        "memory",
        """\
memory = {}
for step in range(STEPS):
    memory[step] = batch()
    train(random.choice(list(memory.values())))
""",
        (("memory[step]", "memory[step % <N/4>]"),),
        "each step stores a batch under a new key",
        "the keys come round again, so old batches are replaced",
    ),
    Pair(
        "replay_of_the_tutorial",
        "memory",
        """\
class ReplayMemory:
    def __init__(self, capacity):
        self.capacity = capacity
        self.memory = []
        self.position = 0

    def push(self, transition):
        if len(self.memory) <= self.position:
            self.memory.append(None)
        self.memory[self.position] = transition
        self.position = self.position + 1


replay = ReplayMemory(<N/2>)
for step in range(STEPS):
    replay.push((batch(8), step % 4))
    train(random.choice(replay.memory)[0])
""",
        (
            ("if len(self.memory) <= self.position", "if len(self.memory) < self.capacity"),
            ("= self.position + 1", "= (self.position + 1) % self.capacity"),
        ),
        "the position never comes round to the start",
        "the list grows up to its capacity, then places are used again",
    ),
    Pair(
        "replay_of_the_tutorial_not_full",
        "memory",
        """\
class ReplayMemory:
    def __init__(self):
        self.memory = []
        self.position = 0

    def push(self, transition):
        if True:
            self.memory.append(None)
        self.memory[self.position] = transition
        self.position = (self.position + 1) % 1_000_000_000


replay = ReplayMemory()
for step in range(STEPS):
    replay.push((batch(8), step % 4))
    train(random.choice(replay.memory)[0])
""",
        (("if True:", "if len(self.memory) < <2N>:"), ("% 1_000_000_000", "% <2N>")),
        "each push appends",
        "the program limits the length; the run ends before it is reached",
        full_after=2,
    ),
    Pair(
        "replay_of_tensors",
        "states",
        """\
states = torch.zeros(0, 64)
for step in range(STEPS):
    states = torch.cat([states, batch()])
    train(states[torch.randint(len(states), (16,))])
""",
        (("torch.cat([states, batch()])", "torch.cat([states, batch()])[-320:]"),),
        "the tensor is extended from itself in each step",
        "the tensor is cut to its newest 320 rows",
        steps=(40, 400),
    ),
    Pair(
        "replay_tensor_ring",
        "chunks",
        """\
states = torch.zeros(256, 64)
chunks = []
for step in range(STEPS):
    x = batch()
    start = step * 16 % 256
    states[start : start + 16] = x
    chunks.append(x)
    train(states[torch.randint(256, (16,))])
""",
        (("    chunks.append(x)\n", "    chunks = [x]\n"),),
        "the batches themselves are kept beside the ring",
        "the ring was allocated before the run, and one batch is kept",
    ),
    Pair(
        "replay_prioritized",
        "heap",
        """\
import heapq

heap = []
for step in range(STEPS):
    x = batch()
    item = (train(x).item(), step, x)
    if len(heap) >= 0:
        heapq.heappush(heap, item)
    else:
        heapq.heappushpop(heap, item)
""",
        (("len(heap) >= 0", "len(heap) < <N/4>"),),
        "the heap is never taken from",
        "a full heap loses the item of the smallest priority",
    ),
    Pair(
        "replay_n_step",
        "pending",
        """\
class NStep:
    def __init__(self):
        self.pending = deque()
        self.ready = deque(maxlen=8)

    def push(self, state, reward):
        self.pending.append((state, reward))
        if len(self.pending) >= 3:
            self.ready.append((self.pending[0][0], sum(one[1] for one in list(self.pending)[-3:])))


n_step = NStep()
for step in range(STEPS):
    n_step.push(batch(), random.random())
    if n_step.ready:
        train(random.choice(n_step.ready)[0])
    else:
        train(batch())
""",
        (("self.pending = deque()", "self.pending = deque(maxlen=3)"),),
        "transitions are read from the window and never leave it",
        "the window has three places",
    ),
    Pair(
        "exemplars_per_class",
        "exemplars",
        """\
exemplars = [deque() for label in range(10)]
for step in range(STEPS):
    x = batch()
    train(x)
    for row in x[:4]:
        exemplars[step * 10 // STEPS].append(row.clone())
""",
        (("deque()", "deque(maxlen=4)"),),
        "each step adds rows to the deque of its class",
        "ten deques of four rows each, filled one after another",
        steps=(40, 400),
        full_after=-1,
    ),
    Pair(
        "exemplars_in_a_dict",
        "exemplars",
        """\
class Continual:
    def __init__(self):
        self.exemplars = defaultdict(list)

    def observe(self, x, label):
        self.exemplars[label].append(x)
        train(x)


learner = Continual()
for step in range(STEPS):
    learner.observe(batch(), step % 5)
""",
        (("        train(x)\n", "        del self.exemplars[label][:-2]\n        train(x)\n"),),
        "each step adds a batch to the list of its class",
        "each class keeps its two newest batches",
    ),
    Pair(
        "episodes_kept",
        "episodes",
        """\
episodes, episode = [], []
for step in range(STEPS):
    episode.append((batch(8), step % 4, 0.5))
    train(random.choice(episode)[0])
    if step % 3 == 2:
        episodes.append(episode)
        episode = []
        del episode[:-3]
""",
        (("del episode[:-3]", "del episodes[:-3]"),),
        "the cut is made in another list",
        "the three newest episodes are kept",
        steps=(40, 400),
    ),
    Pair(
        "rollout_cleared",
        "rollout",
        """\
class Agent:
    def __init__(self):
        self.rollout = []

    def act(self, x):
        with torch.no_grad():
            self.rollout.append((x, net(x)))

    def update(self):
        for x, _ in self.rollout[-4:]:
            loss = train(x)
        return loss


agent = Agent()
for step in range(STEPS // 4):
    for _ in range(4):
        agent.act(batch())
    agent.update()
""",
        (("        return loss\n", "        self.rollout.clear()\n        return loss\n"),),
        "what was collected is never dropped after the update",
        "the rollout is cleared after each update",
        steps=(40, 400),
    ),
    Pair(
        "log_probs_of_reinforce",
        "saved",
        """\
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 4)
        self.saved = []

    def act(self, x):
        chosen = torch.distributions.Categorical(logits=self.body(x))
        action = chosen.sample()
        self.saved.append(chosen.log_prob(action))
        return action


policy = Policy()
policy_optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(STEPS):
    for _ in range(3):
        policy.act(batch())
    loss = -torch.cat(policy.saved[-3:]).mean()
    policy_optimizer.zero_grad()
    loss.backward()
    policy_optimizer.step()
""",
        (("    policy_optimizer.step()\n", "    policy_optimizer.step()\n    del policy.saved[:]\n"),),
        "log probabilities with their graphs stay on the policy",
        "they are deleted after each update",
    ),
    Pair(
        "rewards_of_reinforce",
        "returns",
        """\
returns = []
for episode in range(STEPS):
    reward = net(batch()).sum(1)
    returns.append(reward)
    baseline = torch.stack([one.detach().mean() for one in returns[-10:]]).mean()
    loss = (reward - baseline).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        (("returns = []", "returns = deque(maxlen=10)"), ("in returns[-10:]", "in returns")),
        "ten are read, all are kept",
        "a deque of ten",
        steps=(40, 400),  # until the deque is full its graphs are kept, which no row expects
    ),
    Pair(
        "q_table",
        "table",
        """\
table = {}
for step in range(STEPS):
    x = batch()
    state = tuple((x[0, :8] * 1000).int().tolist())
    values = table.setdefault(state, torch.zeros(1024))
    values[step % 8] += 1
    train(x)
""",
        (("(x[0, :8] * 1000).int()", "(x[0, :3] > 0).int()"),),
        "the states are so fine that each step makes a new one",
        "there are eight states",
        steps=(40, 400),
    ),
    Pair(
        "visited_states",
        "visited",
        """\
visited = set()
for step in range(STEPS):
    x = batch(64)
    train(x)
    for row in x:
        visited.add(row.numpy().tobytes())
""",
        (("row.numpy().tobytes()", "(row[:4] > 0).numpy().tobytes()"),),
        "each step adds 64 new states of 256 bytes to a set",
        "the set has at most 16 discrete states",
    ),
    Pair(
        "opponents",
        "opponents",
        """\
import copy

opponents = deque()
for step in range(STEPS):
    train(batch())
    opponents.append(copy.deepcopy(net).eval())
    with torch.no_grad():
        random.choice(opponents)(batch())
""",
        (("deque()", "deque(maxlen=3)"),),
        "each step adds a copy of the model",
        "the pool has three places",
    ),
    Pair(
        "hall_of_fame",
        "hall",
        """\
hall = []
for step in range(STEPS):
    x = batch()
    score = -train(x).item()
    hall.append((score, step, {name: value.clone() for name, value in net.state_dict().items()}))
    hall.sort(key=lambda entry: entry[0], reverse=True)
""",
        (("reverse=True)\n", "reverse=True)\n    del hall[4:]\n"),),
        "every state is kept, sorted",
        "the four best are kept",
    ),
    Pair(
        "search_tree",
        "parent|root",
        """\
class Node:
    def __init__(self, parent=None):
        self.parent = parent
        self.prior = torch.rand(512)
        self.children = []

    def expand(self):
        self.children = [Node(self) for _ in range(4)]


root = Node()
for step in range(STEPS):
    root.expand()
    root = random.choice(root.children)
    train(batch())
""",
        (("(root.children)\n", "(root.children)\n    root.parent = None\n"),),
        "the new root still refers to its parent, so the tree of all moves stays",
        "the new root lets its parent go",
    ),
    Pair(
        "episodic_memory",
        "episodic",
        """\
class Curiosity:
    def __init__(self):
        self.episodic = []

    def bonus(self, x, done):
        with torch.no_grad():
            code = net[0](x)
        self.episodic.append(code)
        if done:
            self.reset()
        return code.std()

    def reset(self):
        pass


curiosity = Curiosity()
for step in range(STEPS):
    x = batch()
    curiosity.bonus(x, done=step % 5 == 4)
    train(x)
""",
        (("        pass\n", "        self.episodic = []\n"),),
        "the memory of an episode is not emptied when it ends",
        "each episode begins with an empty memory",
        steps=(40, 400),
    ),
    Pair(
        "frames_stacked",
        "frames",
        """\
class FrameStack:
    def __init__(self, depth):
        self.depth = depth
        self.frames = deque()

    def observe(self, frame):
        self.frames.append(frame)
        return torch.stack(list(self.frames)[-self.depth :]).mean(0)


stack = FrameStack(4)
for step in range(STEPS):
    train(stack.observe(batch()))
""",
        (("deque()", "deque(maxlen=depth)"),),
        "four frames are read, all are kept",
        "the deque has as many places as are read; the bound is a variable",
    ),
    Pair(
        "video_of_an_episode",
        "video",
        """\
class Recorder:
    def __init__(self):
        self.video = []

    def step(self, frame, done):
        self.video.append(np.asarray(frame).copy())
        if done:
            self.close()

    def close(self):
        self.last = len(self.video)


recorder = Recorder()
for step in range(STEPS):
    x = batch()
    recorder.step(x.numpy(), step % 6 == 5)
    train(x)
""",
        (("        self.last = len(self.video)\n", "        self.last = len(self.video)\n        self.video = []\n"),),
        "the frames of finished episodes stay",
        "the list is replaced when an episode ends",
        steps=(40, 400),
    ),
)
