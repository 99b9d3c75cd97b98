//! The numbers of nodes, links, groups and flows.

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);
        impl $name {
            /// Its position among its kind, from 0.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// A node of a [`Network`](crate::Network).
    NodeId
}
index! {
    /// A directed link of a [`Network`](crate::Network).
    LinkId
}
index! {
    /// A group of flows of a [`Network`](crate::Network).
    GroupId
}
index! {
    /// A flow of a [`Network`](crate::Network).
    FlowId
}

impl FlowId {
    /// The flow that is, or will be, added as number `index`, from 0: a flow may follow one that is
    /// added after it.
    pub const fn nth(index: u32) -> FlowId {
        FlowId(index)
    }
}
