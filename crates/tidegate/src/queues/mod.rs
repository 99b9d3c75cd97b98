//! One paper, one file: every queue, with its manual page as the module's documentation.
pub mod ared;
pub mod bare;
pub mod black;
pub mod blue;
pub mod care;
pub mod codel;
pub mod drop_tail;
pub mod feng_red;
pub mod fred;
pub mod purge;
pub mod red;
pub mod rem;
pub mod sfb;

pub use ared::Ared;
pub use bare::Bare;
pub use black::Black;
pub use blue::Blue;
pub use care::Care;
pub use codel::Codel;
pub use drop_tail::DropTail;
pub use feng_red::FengRed;
pub use fred::Fred;
pub use purge::Purge;
pub use red::Red;
pub use rem::Rem;
pub use sfb::Sfb;
