//! The engine that all plugins share: which Wasm they may be made of, and how instances are kept.

use wasmtime::{
    Cache, Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    WasmFeatures,
};

use crate::options::{FIBER_STACK, Options, TABLE_ELEMENTS, WASM_STACK};

/// Core instances that a component is made of: one for a program in Rust, Go or C and a few
/// adapters, up to about twenty for an interpreter with its shared libraries.
const CORE_INSTANCES: u32 = 32;

/// Tables of one component. Two or three are usual.
const TABLES: u32 = 8;

/// Memories of one component. An interpreter that is a component of its own beside the code that
/// adapts it has two (componentize-qjs); the limit of a run holds for all of them together.
const MEMORIES: u32 = 2;

/// An engine whose instances come from a pool of `options.instances`.
pub(crate) fn build(options: &Options, cache: Option<Cache>) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    features(&mut config);
    config
        // One guest per store and no guest threads: the experimental scheduler stays out.
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        // Names of functions in a trap's text are worth it; a deep recursion's thousand frames not.
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(8))
        .cache(cache)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(options)));
    Engine::new(&config)
}

/// What is not needed by any toolchain for components is off, so that a fault in it can't matter.
///
/// On stays what today's compilers emit by default: SIMD, bulk memory, reference types,
/// multi-value, sign extension, saturating conversions, extended constants, mutable globals. And
/// several memories: what wasmtime itself makes to pass values between two components has both.
fn features(config: &mut Config) {
    let unneeded = WasmFeatures::THREADS
        | WasmFeatures::SHARED_EVERYTHING_THREADS
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::FUNCTION_REFERENCES
        | WasmFeatures::GC
        | WasmFeatures::EXCEPTIONS
        | WasmFeatures::LEGACY_EXCEPTIONS
        | WasmFeatures::STACK_SWITCHING
        | WasmFeatures::MEMORY64
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::CUSTOM_PAGE_SIZES
        | WasmFeatures::WIDE_ARITHMETIC
        | WasmFeatures::CM_ASYNC
        | WasmFeatures::CM_GC;
    config.wasm_features(unneeded, false);
}

fn pool(options: &Options) -> PoolingAllocationConfig {
    let n = options.instances;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(n)
        .total_core_instances(n.saturating_mul(CORE_INSTANCES))
        .max_core_instances_per_component(CORE_INSTANCES)
        .total_memories(n.saturating_mul(MEMORIES))
        .max_memories_per_component(MEMORIES)
        .max_memory_size(options.memory)
        .total_tables(n.saturating_mul(TABLES))
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .table_elements(TABLE_ELEMENTS)
        .total_stacks(n)
        // What a run dirtied is wiped in place, which is cheaper than handing the pages back.
        .linear_memory_keep_resident(2 << 20)
        .table_keep_resident(2 << 20)
        .pagemap_scan(Enabled::Auto);
    pool
}
