//! The binary `probehost`.

fn main() -> std::process::ExitCode {
    probehost::main()
}
