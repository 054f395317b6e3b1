//! Which rows of a block look into which cells.

/// Cells with their visitors. Memory is left from one block to the next.
pub struct Visits<V> {
    /// By cell.
    visitors: Vec<Vec<V>>,
}

impl<V> Visits<V> {
    /// Room for the visitors of so many cells.
    pub fn new(cells: usize) -> Self {
        Self { visitors: (0..cells).map(|_| Vec::new()).collect() }
    }

    /// Has a visitor visit a cell.
    pub fn add(&mut self, cell: usize, visitor: V) {
        self.visitors[cell].push(visitor);
    }

    pub(crate) fn clear(&mut self) {
        self.visitors.iter_mut().for_each(Vec::clear);
    }

    /// Visited cells, those with most visitors first: most of what is near to many is near to each.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[V])> {
        let mut order: Vec<usize> =
            (0..self.visitors.len()).filter(|&cell| !self.visitors[cell].is_empty()).collect();
        order.sort_by_key(|&cell| std::cmp::Reverse(self.visitors[cell].len()));
        order.into_iter().map(|cell| (cell, &self.visitors[cell][..]))
    }
}
