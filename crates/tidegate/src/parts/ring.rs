//! A first-in first-out line that grows to what it needs and then allocates no more.
use alloc::collections::VecDeque;
use core::ops::Index;

/// A line of `T`s. Positions count from the head.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: VecDeque<T>,
}

impl<T> Ring<T> {
    /// An empty line.
    pub const fn new() -> Ring<T> {
        Ring { items: VecDeque::new() }
    }

    /// An empty line that has room for `items` from the start.
    pub fn with_capacity(items: usize) -> Ring<T> {
        Ring { items: VecDeque::with_capacity(items) }
    }

    /// From now on `items` have room.
    pub fn make_room(&mut self, items: usize) {
        self.items.reserve(items.saturating_sub(self.items.len()));
    }

    /// Joins the tail.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    /// Leaves from the head.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// The head.
    #[inline]
    pub fn head(&self) -> Option<&T> {
        self.items.front()
    }

    /// Takes the item at `position` out, in time linear in its distance to the nearer end.
    ///
    /// # Panics
    /// When the line is not that long.
    pub fn remove(&mut self, position: usize) -> T {
        self.items.remove(position).expect("a position within the line")
    }

    /// All, from the head on.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<T> Index<usize> for Ring<T> {
    type Output = T;
    #[inline]
    fn index(&self, position: usize) -> &T {
        &self.items[position]
    }
}
