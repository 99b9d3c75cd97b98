//! Every queue against its naive twin, its golden numbers and what its paper claims, and what must
//! hold of all queues. One binary: what they share is compiled once. What counts memory stands in
//! binaries of its own.
#[path = "../support/red_family.rs"]
pub(crate) mod family;
#[path = "../naive/mod.rs"]
pub(crate) mod naive;
#[path = "../support/mod.rs"]
pub(crate) mod support;
#[path = "../twinned/mod.rs"]
pub(crate) mod twinned;

mod afd;
mod afq;
mod ared;
mod bare;
mod bare_claims;
mod battery;
mod bc_pqp;
mod blue;
mod bottleneck;
mod cake;
mod cake_acks;
mod care;
mod cebinae;
mod choke;
mod cobalt;
mod codel;
mod csfq;
mod drr;
mod dualpi2;
mod ewfq;
mod feng_red;
mod fq_codel;
mod fq_pie;
mod fred;
mod golden;
mod hcsfq;
mod hhf;
mod hosts;
mod inherit;
mod mincount;
mod pie;
mod purge;
mod red;
mod red_pd;
mod rem;
mod sequences;
mod sfb;
mod sfb_claims;
mod sfq;
mod sfq_red;
mod sfred;
mod sred;
mod support_itself;
mod tide;
mod vectors;
mod wfq;
