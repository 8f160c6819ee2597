"""Names that the sweep leaves out: they are no functions of values, or of random ones. The keys say
where they are tested."""

ELSEWHERE = {
    "random numbers: test_random.py, test_distributions.py":
        "rand randn randint randperm normal rand_like randn_like randint_like bernoulli bernoulli_ "
        "multinomial poisson dropout alpha_dropout feature_alpha_dropout dropout1d dropout2d "
        "dropout3d gumbel_softmax rrelu rrelu_ uniform_ normal_ random_ exponential_ geometric_ "
        "log_normal_ cauchy_ get_rng_state set_rng_state initial_seed seed manual_seed",
    "settings and questions: test_tensor.py, test_amp.py":
        "set_default_device set_default_dtype set_default_tensor_type "
        "set_float32_matmul_precision set_flush_denormal set_num_threads set_printoptions "
        "get_autocast_cpu_dtype get_autocast_gpu_dtype get_default_dtype "
        "get_float32_matmul_precision get_num_threads is_autocast_cpu_enabled is_autocast_enabled "
        "is_complex is_floating_point is_grad_enabled is_inference is_signed is_tensor can_cast "
        "promote_types result_type typename use_deterministic_algorithms numel dim ndimension "
        "nelement size stride storage_offset element_size data_ptr dense_dim get_device "
        "is_contiguous is_pinned is_set_to is_shared type item tolist",
    "bytes that are undefined in PyTorch": "empty empty_like empty_strided new_empty new",
    "files, arrays, devices: test_exchange.py":
        "load save from_dlpack from_numpy frombuffer numpy cpu cuda pin_memory share_memory_ "
        "to_dense conj resolve_conj as_subclass apply_",
    "the graph: test_hooks.py, test_autograd.py":
        "backward register_hook register_post_accumulate_grad_hook retain_grad requires_grad_ "
        "detach_",
}
EXEMPT = {name: why for why, names in ELSEWHERE.items() for name in names.split()}
