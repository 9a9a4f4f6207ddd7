"""GL904 to GL909: what an allocator's state shows. No trace leads to it, so no row has paths; `gradlife.devices` judges them."""

from __future__ import annotations

from gradlife.patterns.matching.pattern import Pattern

MEMORY_NOTES = "https://docs.pytorch.org/docs/stable/notes/cuda.html"

ALLOCATOR_STATES = (
    Pattern(
        "GL904",
        "a private pool keeps memory that only it can use",
        "A captured CUDA graph replays on fixed addresses. Its pool keeps every block of the capture, freed ones too, and "
        "`torch.cuda.empty_cache()` returns none of it while the graph lives. A MemPool keeps its memory likewise. Graphs "
        "that never run at the same time can share a pool.",
        "Drop graphs that are not replayed, or let several share a pool",
        "torch.cuda.graph(g, pool=first.pool())",
        kinds=frozenset(),
        links=(MEMORY_NOTES,),
        example="segments with segment_pool_id (3, 0): 4 of 84 MB, 63 MB in free blocks",
    ),
    Pattern(
        "GL905",
        "torch.compile's CUDA graphs keep a pool",
        "torch.compile(mode='reduce-overhead') captures a CUDA graph for each function and input shape. All of them keep "
        "their memory in one pool until they are reset.",
        "Compile fewer shapes, or release the graphs",
        "torch._inductor.cudagraph_trees.reset_cudagraph_trees()",
        kinds=frozenset(),
        links=("https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",),
        example="segments with segment_pool_id (0, 1), blocks allocated in torch/_inductor/cudagraph_trees.py",
    ),
    Pattern(
        "GL906",
        "freed blocks wait for a stream",
        "A tensor was freed after record_stream or a non-blocking copy, while another stream may still use it. Its block "
        "cannot be used again before that stream has done all work that it had at the time.",
        "Wait for the stream before large allocations",
        "torch.cuda.current_stream().wait_stream(side)",
        kinds=frozenset(),
        links=("https://docs.pytorch.org/docs/stable/generated/torch.Tensor.record_stream.html",),
        example="8 blocks in the state active_awaiting_free",
    ),
    Pattern(
        "GL907",
        "a cuBLAS workspace for each handle and stream",
        "torch keeps a workspace of 8.5 MB (33.6 MB on Hopper and later) for each pair of cuBLAS handle and stream that ever "
        "ran a matrix product. Each thread has handles of its own. None is returned by itself.",
        "Use fewer streams and threads, or start with CUBLAS_WORKSPACE_CONFIG=:4096:2",
        kinds=frozenset(),
        example="9 blocks of 8,519,680 bytes, allocated in at::cuda::getNewWorkspace",
    ),
    Pattern(
        "GL908",
        "the cache of pinned memory keeps freed blocks",
        "Pinned memory is rounded up to a power of two. Freed blocks stay in a cache, and a non-blocking copy that still "
        "runs makes the next batch take new ones. The cache never shrinks by itself.",
        "Return what is cached after the phase that used it",
        "torch.accelerator.empty_host_cache()",
        kinds=frozenset(),
        example="host_memory_stats: allocated_bytes 1.1 GB, active_bytes 67 MB",
    ),
    Pattern(
        "GL909",
        "cudaMallocAsync keeps freed memory in the driver's pool",
        "With backend:cudaMallocAsync freed memory goes back to a pool of the driver. PyTorch raises that pool's threshold so "
        "that it returns nothing by itself, and describes no blocks.",
        "Return it to the device",
        "torch.cuda.empty_cache()",
        kinds=frozenset(),
        links=(MEMORY_NOTES,),
        example="memory_stats: reserved_bytes 12 GB, allocated_bytes 4 GB",
    ),
)
