"""Optimizers, models, checkpoints, and the data that training goes through."""

from __future__ import annotations

from benchmarks.twins.pair import Pair

PAIRS = (
    Pair(
        "optimizers_made_again",
        "used",
        """\
used = []
for step in range(STEPS):
    if step % 3 == 0:
        stage = torch.optim.Adam(net.parameters(), lr=1e-3)
        used.append(stage)
    loss = net(batch()).square().mean()
    stage.zero_grad()
    loss.backward()
    stage.step()
""",
        (("used.append(stage)", "used = [stage]"),),
        "the optimizers of all stages are kept with their state",
        "each stage makes an optimizer, and the one before goes",
        steps=(40, 400),
    ),
    Pair(
        "schedulers_kept",
        "schedulers",
        """\
schedulers = []
for step in range(STEPS):
    if step % 4 == 0:
        schedule = torch.optim.lr_scheduler.LambdaLR(
            torch.optim.SGD([nn.Parameter(torch.randn(64, 64))], lr=0.1), lambda epoch: 0.95**epoch
        )
        schedulers.append(schedule)
    train(batch())
    schedule.optimizer.step()
    schedule.step()
""",
        (("schedulers.append(schedule)", "schedulers[:] = [schedule]"),),
        "a scheduler keeps its optimizer, which keeps its parameters",
        "the newest scheduler is kept",
        steps=(40, 400),
    ),
    Pair(
        "groups_added",
        "param_groups",
        """\
for step in range(STEPS):
    if step % 1 == 0:
        optimizer.add_param_group({"params": [nn.Parameter(torch.randn(32, 32))], "lr": 1e-4})
    train(batch())
""",
        (("step % 1 == 0", "step < 4"),),
        "each step adds a group with a new parameter",
        "four groups are added at the start",
        steps=(40, 400),
    ),
    Pair(
        "state_of_old_heads",
        "state",
        """\
head = nn.Linear(64, 32)
tuner = torch.optim.Adam(head.parameters(), lr=1e-3)
for step in range(STEPS):
    if step % 2 == 0:
        old, head = head, nn.Linear(64, 32)
        tuner.param_groups[0]["params"] = list(head.parameters())
        for parameter in old.parameters():
            tuner.state.get(parameter)
    loss = head(batch()).square().mean()
    tuner.zero_grad()
    loss.backward()
    tuner.step()
""",
        (("tuner.state.get(parameter)", "tuner.state.pop(parameter, None)"),),
        "the optimizer keeps the state, and with it the parameters, of heads that are gone",
        "their state is removed",
        steps=(40, 400),
    ),
    Pair(
        "unfrozen_late",
        "layers|frozen",
        """\
layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(6))
for parameter in layers.parameters():
    parameter.requires_grad_(False)
tuner = torch.optim.Adam([*net.parameters(), *layers.parameters()], lr=1e-3)
for step in range(STEPS):
    if step % 2 == 0:
        if step // 2 >= len(layers):
            layers.append(nn.Linear(64, 64))
            tuner.add_param_group({"params": list(layers[-1].parameters())})
        layers[step // 2].requires_grad_(True)
    x = batch()
    for layer in layers:
        x = layer(x) * 0.1
    loss = net(x).square().mean()
    tuner.zero_grad()
    loss.backward()
    tuner.step()
""",
        (("step // 2 >= len(layers)", "step < 0"), ("layers[step // 2]", "layers[step // 2 % 6]")),
        "a layer is added every other step",
        "six frozen layers are unfrozen one after another, and the optimizer makes their state",
        steps=(40,),
    ),
    Pair(
        "state_of_an_own_optimizer",
        "past",
        """\
class Momentum(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                past = self.state[parameter].setdefault("past", [])
                past.append(parameter.grad.clone())
                parameter.sub_(group["lr"] * torch.stack(past[-3:]).mean(0))


optimizer = Momentum(net.parameters(), lr=1e-3)
for step in range(STEPS):
    train(batch())
""",
        (("past.append(parameter.grad.clone())", "past[:] = [*past[-2:], parameter.grad.clone()]"),),
        "three gradients are read, all are kept",
        "three are kept",
    ),
    Pair(
        "pairs_of_lbfgs",
        "pairs",
        """\
class Quasi:
    def __init__(self, most):
        self.most = most
        self.pairs = []

    def remember(self, moved, changed):
        if len(self.pairs) > self.most:
            self.pairs.sort(key=lambda pair: float(pair[0].norm()))
        self.pairs.append((moved, changed))


quasi = Quasi(5)
for step in range(STEPS):
    before = torch.cat([one.detach().flatten() for one in net.parameters()])
    train(batch())
    after = torch.cat([one.detach().flatten() for one in net.parameters()])
    quasi.remember(after - before, torch.cat([one.grad.flatten() for one in net.parameters()]))
""",
        (("self.pairs.sort(key=lambda pair: float(pair[0].norm()))", "self.pairs.pop(0)"),),
        "a full history is sorted, not shortened",
        "the oldest pair goes",
    ),
    Pair(
        "lbfgs_of_torch",
        "lines",
        """\
weights = nn.Parameter(torch.randn(512))
target = torch.randn(512)
lbfgs = torch.optim.LBFGS([weights], lr=0.01, max_iter=1, history_size=<N/4>)
lines = []
for step in range(STEPS):

    def closure():
        lbfgs.zero_grad()
        loss = (weights - target + 0.1 * torch.randn(512)).pow(4).sum()
        loss.backward()
        return loss

    loss = lbfgs.step(closure)
    lines.append((loss, weights.grad.clone()))
""",
        (("lines.append((loss, weights.grad.clone()))", "lines[:] = [(loss, weights.grad.clone())]"),),
        "the losses and gradients of all steps are kept",
        "the history of LBFGS has a bound, which it reaches",
        steps=(40, 400),
    ),
    Pair(
        "best_state",
        "states",
        """\
import copy


class EarlyStopping:
    def __init__(self):
        self.states = {}

    def update(self, score, step):
        self.states[step] = copy.deepcopy(net.state_dict())


stopping = EarlyStopping()
for step in range(STEPS):
    stopping.update(train(batch()).item(), step)
""",
        (("self.states[step]", 'self.states["best"]'),),
        "each step stores a state under its number",
        "the same key is written again",
    ),
    Pair(
        "rotated_checkpoints",
        "saved",
        """\
import io

saved = []
for step in range(STEPS):
    train(batch())
    if step % 2 == 1:
        file = io.BytesIO()
        torch.save(net.state_dict(), file)
        saved.append(file)
        if len(saved) > 3:
            saved[0].flush()
""",
        (("saved[0].flush()", "saved.pop(0)"),),
        "the oldest file is flushed, not removed",
        "the three newest are kept",
        steps=(40, 400),
    ),
    Pair(
        "snapshots_of_an_ensemble",
        "members",
        """\
import copy

members = []
for step in range(STEPS):
    train(batch())
    if step % 4 == 0 and len(members) >= 0:
        members.append(copy.deepcopy(net))
""",
        (("len(members) >= 0", "len(members) < 5"),),
        "every fourth step adds a copy of the model",
        "the ensemble has five members",
        steps=(40, 400),
    ),
    Pair(
        "updates_of_clients",
        "updates",
        """\
class Server:
    def __init__(self):
        self.updates = []

    def receive(self, update):
        self.updates.append(update)

    def aggregate(self):
        newest = self.updates[-4:]
        self.mean = [torch.stack(parts).mean(0) for parts in zip(*newest)]


server = Server()
for step in range(STEPS):
    train(batch())
    server.receive([one.grad.clone() for one in net.parameters()])
    if step % 4 == 3:
        server.aggregate()
""",
        (("zip(*newest)]\n", "zip(*newest)]\n        self.updates = []\n"),),
        "the updates of finished rounds are kept",
        "each round begins with none",
        steps=(40, 400),
    ),
    Pair(
        "labels_made_by_the_model",
        "labels",
        """\
labels = {}
for step in range(STEPS):
    x = batch()
    with torch.no_grad():
        scores = net[0](x)
    for i, row in enumerate(scores):
        labels[step * 16 + i] = row.clone()
    train(x)
""",
        (("labels[step * 16 + i]", "labels[(step * 16 + i) % 96]"),),
        "the numbers of the samples rise for ever",
        "there are 96 samples",
        steps=(40, 400),
    ),
    Pair(
        "pool_of_images",
        "images",
        """\
class ImagePool:
    def __init__(self, size):
        self.size, self.count, self.images = size, 0, []

    def query(self, image):
        if self.count < self.size:
            self.images.append(image)
            return image
        place = random.randrange(self.size)
        old, self.images[place] = self.images[place], image
        return old


pool = ImagePool(<N/4>)
for step in range(STEPS):
    train(pool.query(batch()))
""",
        (
            (
                "            self.images.append(image)\n",
                "            self.count += 1\n            self.images.append(image)\n",
            ),
        ),
        "the count of the pool stays 0, so every image is added",
        "the pool counts its images and swaps them when it is full",
    ),
    Pair(
        "pool_of_images_not_full",
        "images",
        """\
images = []
for step in range(STEPS):
    x = batch()
    if len(images) < 100_000_000_000:
        images.append(x)
    train(random.choice(images))
""",
        (("100_000_000_000", "<2N>"),),
        "a hundred billion images of 4 kB are 400 TB: no bound",
        "the program limits the list to more images than the run has steps",
        full_after=2,
    ),
    Pair(
        "places_filled_one_by_one",
        "rows",
        """\
rows = defaultdict(lambda: None)
for step in range(STEPS):
    x = batch()
    rows[step] = x
    train(x)
""",
        (("defaultdict(lambda: None)", "[None] * 1_000"),),
        "a dict that gets a key in each step",
        "a list that has its length from the start",
        full_after=-1,
    ),
    Pair(
        "places_used_again",
        "kept",
        """\
rows = [None] * <N/4>
kept = []
for step in range(STEPS):
    x = batch()
    kept.append(rows[step % len(rows)])
    rows[step % len(rows)] = x
    train(x)
""",
        (("kept.append(rows[step % len(rows)])", "kept = [rows[step % len(rows)]]"),),
        "what is pushed out of the ring goes to a list",
        "the ring has a fixed length, and one old batch is kept",
        steps=(40, 400),
    ),
    Pair(
        "ranges_of_an_observer",
        "samples",
        """\
class Observer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("lowest", torch.zeros(64))
        self.samples = []

    def forward(self, x):
        self.lowest = torch.minimum(self.lowest, x.min(0).values)
        self.samples.append(x)
        return x


observer = Observer()
for step in range(STEPS):
    train(observer(batch()))
""",
        (("self.samples.append(x)", "self.samples = [x]"),),
        "the observer keeps all that it saw",
        "running minima and one sample",
    ),
    Pair(
        "adapters_of_tenants",
        "adapters",
        """\
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.adapters = nn.ModuleDict()


class Server:
    def __init__(self):
        self.layers = nn.Sequential(Layer())

    def answer(self, number, x):
        self.layers[0].adapters[f"a{number}"] = nn.Linear(64, 64)
        return self.layers[0].adapters[f"a{number}"](x)


server = Server()
for step in range(STEPS):
    with torch.no_grad():
        x = server.answer(step, batch())
    train(x)
""",
        (("server.answer(step, batch())", "server.answer(step % 2, batch())"),),
        "each request adds an adapter to a module dict",
        "there are two tenants",
    ),
    Pair(
        "columns_of_a_network",
        "columns",
        """\
class Progressive(nn.Module):
    def __init__(self):
        super().__init__()
        self.columns = nn.ModuleList()

    def grow(self):
        if len(self.columns) >= 0:
            self.columns.append(nn.Linear(64, 16))


model = Progressive()
for step in range(STEPS):
    model.grow()
    train(batch())
""",
        (("len(self.columns) >= 0", "len(self.columns) < 4"),),
        "each step adds a column",
        "there are four columns",
        steps=(40, 400),
    ),
    Pair(
        "buffers_registered",
        "_buffers|stage",
        """\
class Tracker(nn.Module):
    def note(self, number, x):
        self.register_buffer(f"mean_{number}", x.repeat(1, 2))


stage = Tracker()
for step in range(STEPS):
    x = batch()
    stage.note(step, x)
    train(x)
""",
        (("stage.note(step, x)", "stage.note(0, x)"),),
        "each step registers a buffer with a new name",
        "the same buffer is written again",
    ),
    Pair(
        "curriculum",
        "samples",
        """\
samples = []
for step in range(STEPS):
    x = batch()
    difficulty = train(x).item()
    samples.append((difficulty, step, x))
    samples.sort(key=lambda sample: sample[:2])
    easiest = samples[:8]
""",
        (("    easiest = samples[:8]\n", "    del samples[8:]\n"),),
        "eight are read, all are kept",
        "the eight easiest are kept",
    ),
    Pair(
        "reservoir",
        "reservoir",
        """\
reservoir = []
for step in range(STEPS):
    x = batch()
    train(x)
    if len(reservoir) < <N/4> or step >= 0:
        reservoir.append(x)
    else:
        place = random.randrange(step + 1)
        if place < len(reservoir):
            reservoir[place] = x
""",
        ((" or step >= 0", ""),),
        "the second condition is always true",
        "the reservoir is full after a quarter of the run; then samples are replaced",
    ),
    Pair(
        "shuffle_buffer",
        "waiting",
        """\
def shuffled(stream, size):
    waiting = []
    for item in stream:
        waiting.append(item)
        if len(waiting) >= size:
            yield waiting[random.randrange(len(waiting))]


for x in shuffled((batch() for step in range(STEPS)), 5):
    train(x)
""",
        (("waiting[random.randrange(len(waiting))]", "waiting.pop(random.randrange(len(waiting)))"),),
        "samples are drawn and stay in the buffer",
        "what is drawn leaves the buffer",
        steps=(40, 400),
    ),
    Pair(
        "collated_batches",
        "batches",
        """\
class Collate:
    def __init__(self):
        self.batches = []

    def __call__(self, samples):
        self.batches.append(torch.stack(samples))
        return self.batches[-1]


collate = Collate()
loader = torch.utils.data.DataLoader([torch.randn(64) for _ in range(16)], 16, collate_fn=collate)
for epoch in range(STEPS):
    for x in loader:
        train(x)
""",
        (("self.batches.append(torch.stack(samples))", "self.batches = [torch.stack(samples)]"),),
        "the function that makes batches keeps them",
        "it keeps the newest",
    ),
    Pair(
        "negatives_of_entities",
        "negatives",
        """\
negatives = defaultdict(list)
for step in range(STEPS):
    x = batch()
    entity = step % 6
    negatives[entity].extend(x.clone())
    train(torch.stack(negatives[entity][-16:]))
""",
        (("negatives[entity].extend(x.clone())", "negatives[entity][:] = x.clone()"),),
        "six lists that are extended for ever",
        "six lists that are overwritten",
        steps=(40, 400),
    ),
    Pair(
        "messages_of_nodes",
        "messages",
        """\
class Nodes:
    def __init__(self, count):
        self.memory = torch.zeros(count, 64)
        self.messages = {node: [] for node in range(count)}

    def send(self, node, message):
        self.messages[node].append(message)

    def update(self):
        for node, messages in self.messages.items():
            if messages:
                self.memory[node] = messages[-1].mean(0)


nodes = Nodes(8)
for step in range(STEPS):
    x = batch()
    nodes.send(step % 8, x)
    nodes.update()
    train(x)
""",
        (("messages[-1].mean(0)\n", "messages[-1].mean(0)\n                messages.clear()\n"),),
        "messages are read and stay with their nodes",
        "they are cleared after the update",
    ),
    Pair(
        "samples_of_an_audio_stream",
        "left",
        """\
left = torch.zeros(0)
for step in range(STEPS):
    left = torch.cat([left, torch.randn(2048)])
    frame = left[:1024]
    left = left[1024:]
    train(frame.reshape(16, 64))
""",
        (("torch.randn(2048)", "torch.randn(1024)"),),
        "each step brings 2,048 samples and takes 1,024",
        "it takes what it brings",
    ),
    Pair(
        "tracks_of_objects",
        "tracks",
        """\
class Tracker:
    def __init__(self):
        self.tracks = {}
        self.next = 0

    def update(self, detections, now):
        for detection in detections:
            self.tracks[self.next] = (now, detection)
            self.next += 1
        for number in [number for number, (seen, _) in self.tracks.items() if now - seen > 3]:
            self.lost(number)

    def lost(self, number):
        return self.tracks[number][0]


tracker = Tracker()
for step in range(STEPS):
    x = batch()
    tracker.update(list(x.clone().split(8)), step)
    train(x)
""",
        (("return self.tracks[number][0]", "return self.tracks.pop(number)[0]"),),
        "tracks of lost objects stay",
        "they are removed after three steps",
    ),
    Pair(
        "keyframes",
        "keyframes",
        """\
keyframes = []
for step in range(STEPS):
    x = batch(64)
    if step % 7 == 0:
        keyframes.append(x)
        if len(keyframes) > 4:
            keyframes.sort(key=lambda frame: float(frame.mean()))
    train(x)
""",
        (("keyframes.sort(key=lambda frame: float(frame.mean()))", "del keyframes[0]"),),
        "one in seven steps adds a frame of 16 kB, and none goes",
        "four frames are kept",
        steps=(400,),
    ),
    Pair(
        "users_seen",
        "users",
        """\
users = {}
for step in range(STEPS):
    for _ in range(8):
        user = random.randrange(10**12)
        users.setdefault(user, torch.zeros(128))[0] += 1
    train(batch())
""",
        (("random.randrange(10**12)", "random.randrange(20)"),),
        "eight new users in each step",
        "there are twenty users",
    ),
    Pair(
        "prototypes",
        "prototypes",
        """\
prototypes = {label: [torch.zeros(64, 4)] for label in range(4)}
for step in range(STEPS):
    x = batch()
    train(x)
    old = prototypes[step % 4][-1]
    prototypes[step % 4].append(old * 0.9 + 0.1 * x.T[:, :4].repeat(1, 1))
""",
        (("    prototypes[step % 4].append(", "    prototypes[step % 4].clear()\n    prototypes[step % 4].append("),),
        "each update adds a prototype to the list of its class",
        "the list is cleared before it gets the new one",
    ),
    Pair(
        "index_of_vectors",
        "vectors",
        """\
class Index:
    def __init__(self, capacity):
        self.capacity = capacity
        self.vectors = []

    def add(self, x):
        self.vectors.append(x)

    def search(self, x):
        return (torch.cat(self.vectors[-4:]) @ x.T).argmax(0)


index = Index(8)
for step in range(STEPS):
    x = batch()
    index.add(x)
    index.search(x)
    train(x)
""",
        (
            (
                "        self.vectors.append(x)\n",
                "        self.vectors.append(x)\n        self.vectors = self.vectors[-self.capacity :]\n",
            ),
        ),
        "the capacity is stored and not applied",
        "the list is cut to its newest eight",
    ),
    Pair(
        "ancestors_of_particles",
        "ancestor",
        """\
class Particle:
    def __init__(self, state, ancestor=None):
        self.state, self.ancestor = state, ancestor


particles = [Particle(batch(4)) for _ in range(4)]
for step in range(STEPS):
    x = batch()
    chosen = random.choices(particles, k=4)
    particles = [Particle(one.state + 0.1, one) for one in chosen]
    train(x)
""",
        (("one.state + 0.1, one)", "one.state + 0.1)"),),
        "each particle refers to its ancestor, and so to all before",
        "particles know no ancestors",
    ),
    Pair(
        "moving_window_of_series",
        "series",
        """\
series = np.zeros((0, 64))
for step in range(STEPS):
    x = batch()
    series = np.concatenate([series, x.numpy().astype(np.float64)])
    train(torch.from_numpy(series[-16:]).float())
""",
        (("    train(torch", "    series = series[-64:].copy()\n    train(torch"),),
        "an array that is extended from itself",
        "it is cut to 64 rows",
    ),
    Pair(
        "history_in_numpy",
        "table",
        """\
table = []
for step in range(STEPS):
    x = batch()
    train(x)
    table.append(x.numpy().mean(1) * np.ones((64, 1)))
""",
        (("table = []", "table = deque(maxlen=6)"),),
        "an array of 4 kB a step",
        "the newest six",
    ),
)
