//! What queues are built from. Parts know no queue.
pub mod bins;
pub mod capture_list;
pub mod codel_law;
pub mod every;
pub mod ewma;
pub mod flow_table;
pub mod heaviest;
pub mod hit_cache;
pub mod jackknife;
pub mod lines;
pub mod matches;
pub mod mincount;
pub mod power;
pub mod price;
pub mod rate;
pub mod ring;
pub mod token_bucket;
