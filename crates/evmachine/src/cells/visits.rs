//! Which rows of a block look into which cells.

const NOWHERE: usize = usize::MAX;

/// Cells with their visitors, in the order in which they were first visited.
pub(crate) struct Visits<V> {
    /// By cell, where it stands among the visited ones.
    places: Vec<usize>,
    visited: Vec<(usize, Vec<V>)>,
}

impl<V> Visits<V> {
    pub(crate) fn new(cells: usize) -> Self {
        Self { places: vec![NOWHERE; cells], visited: Vec::new() }
    }

    pub(crate) fn add(&mut self, cell: usize, visitor: V) {
        if self.places[cell] == NOWHERE {
            self.places[cell] = self.visited.len();
            self.visited.push((cell, Vec::new()));
        }
        self.visited[self.places[cell]].1.push(visitor);
    }

    pub(crate) fn clear(&mut self) {
        self.visited.drain(..).for_each(|(cell, _)| self.places[cell] = NOWHERE);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[V])> {
        self.visited.iter().map(|(cell, visitors)| (*cell, &visitors[..]))
    }
}
