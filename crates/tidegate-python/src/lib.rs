//! The Python package `tidegate`: the lab and the queues, seen from Python.
//!
//! Here is what needs Rust: the runs, the tables as Arrow streams, the queues packet by packet.
//! What users import is the Python beside it, `python/tidegate/`, which reads arguments and shows
//! results. Every call that simulates gives Python's lock back and hears Ctrl-C.
mod attend;
mod discipline;
mod failure;
mod outcomes;
mod packet;
mod queue;
mod replay;
mod run;
mod show;
mod suite;
mod sweep;
mod table;

/// What the package is built on; users import `tidegate`.
#[pyo3::pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::discipline::Ledger;
    #[pymodule_export]
    use crate::outcomes::Outcomes;
    #[pymodule_export]
    use crate::packet::{Backlog, Fate, Link, Packet};
    #[pymodule_export]
    use crate::queue::Queue;
    #[pymodule_export]
    use crate::replay::replay;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::show::{queues, scenarios, show};
    #[pymodule_export]
    use crate::suite::{Judged, run_suite, suites};
    #[pymodule_export]
    use crate::sweep::{Published, Store, Study};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
