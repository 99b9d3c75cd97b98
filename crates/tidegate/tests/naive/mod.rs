//! The naive twins, one a queue, each from its paper alone.
#![allow(dead_code, reason = "each test takes the twins it needs")]

pub mod afd;
pub mod afq;
pub mod ared;
pub mod bare;
pub mod black;
pub mod blue;
pub mod cake;
pub mod care;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod csfq;
pub mod drr;
pub mod dualpi2;
pub mod ewfq;
pub mod feng_red;
pub mod fq_codel;
pub mod fq_pie;
pub mod fred;
pub mod hhf;
pub mod hits;
pub mod hosts;
pub mod pie;
pub mod purge;
pub mod red;
pub mod red_pd;
pub mod rem;
pub mod sfb;
pub mod sfq;
pub mod sfq_red;
pub mod sfred;
pub mod sred;
pub mod tide;
pub mod turns;
pub mod wfq;
