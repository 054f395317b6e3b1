//! Exemplars in cells, so that a sample meets few of them.
//!
//! A cell holds up to [`FULL`] exemplars that lie nearer to its pivot than to that of any other cell, as far as they were there when
//! the cell was; one that is full is divided. A sample looks into the [`PROBED`] cells whose pivots are nearest: all of them in a
//! pool of some ten thousand groups, few in one of a million.

use rayon::prelude::*;

use crate::error::RunError;
use evmachine_engine::distance::{self, Columns, RowBlock, Tile};
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;

/// Exemplars at which a cell is divided.
const FULL: usize = 512;
/// Cells that a sample looks into.
const PROBED: usize = 16;
/// Samples that meet the pivots at once.
const BLOCK: usize = 120;
/// Members that are tried as the pivot of the second half of a cell.
const CANDIDATES: usize = 8;

/// An exemplar of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exemplar {
    pub(super) group: u64,
    /// Largest rank within the radius.
    bound: f32,
}

/// The exemplar that a sample is nearest to, of those within whose radius it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FoundGroup {
    pub(super) group: u64,
    pub(super) rank: f32,
}

impl FoundGroup {
    fn is_before(&self, other: Option<Self>) -> bool {
        other.is_none_or(|other| (self.rank, self.group) < (other.rank, other.group))
    }
}

pub(super) struct Cells {
    metric: Metric,
    dimensions: usize,
    all: Vec<Cell>,
    /// Laid out anew when a cell was divided.
    pivots: Option<Box<dyn Columns>>,
    count: usize,
}

struct Cell {
    pivot: Vec<f32>,
    exemplars: Vec<Exemplar>,
    /// Row after row, ready for the metric.
    values: Vec<f32>,
    columns: Box<dyn Columns>,
}

impl Cells {
    pub(super) fn new(metric: Metric, dimensions: usize) -> Self {
        Self { metric, dimensions, all: Vec::new(), pivots: None, count: 0 }
    }

    /// Of the vectors.
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn exemplar(&self, group: u64, radius: f32) -> Exemplar {
        Exemplar { group, bound: self.metric.largest_rank_within(radius) }
    }

    /// For each of the rows, the nearest exemplar within whose radius it lies.
    pub(super) fn find(
        &self,
        points: &Points<'_>,
        rows: &[usize],
    ) -> Result<Vec<Option<FoundGroup>>, RunError> {
        let nearest = self.nearest_cells(points, rows)?;
        let mut visitors: Vec<Vec<usize>> = vec![Vec::new(); self.all.len()];
        for (position, cells) in nearest.iter().enumerate() {
            for &cell in cells {
                visitors[cell as usize].push(position);
            }
        }
        let found: Result<Vec<Vec<(usize, FoundGroup)>>, RunError> = self
            .all
            .par_iter()
            .zip(&visitors)
            .filter(|(_, visitors)| !visitors.is_empty())
            .map_init(Tile::default, |tile, (cell, visitors)| cell.receive(points, rows, visitors, tile))
            .collect();
        let mut best: Vec<Option<FoundGroup>> = vec![None; rows.len()];
        for (position, found) in found?.into_iter().flatten() {
            if found.is_before(best[position]) {
                best[position] = Some(found);
            }
        }
        Ok(best)
    }

    /// Adds exemplars, one for each of the rows.
    pub(super) fn insert(
        &mut self,
        points: &Points<'_>,
        rows: &[usize],
        exemplars: &[Exemplar],
    ) -> Result<(), RunError> {
        let mut rest = 0;
        while rest < rows.len() {
            // As many at once as no cell can overflow by much; they all meet the same pivots.
            let end = (rest + FULL).min(rows.len());
            let chosen = self.nearest_cells(points, &rows[rest..end])?;
            let mut changed = Vec::new();
            for (at, cells) in (rest..end).zip(&chosen) {
                let cell = match cells.first() {
                    Some(&cell) => cell as usize,
                    None if self.all.is_empty() => {
                        self.all.push(Cell::around(points.gather(&[rows[at]]), &self.metric));
                        self.pivots = None;
                        0
                    }
                    None => 0,
                };
                self.all[cell].exemplars.push(exemplars[at]);
                self.all[cell].values.extend(points.gather(&[rows[at]]));
                changed.push(cell);
            }
            changed.sort_unstable();
            changed.dedup();
            for cell in changed {
                self.settle(cell)?;
            }
            self.layout_pivots();
            rest = end;
        }
        self.count += rows.len();
        Ok(())
    }

    /// Removes the exemplar of a group; whether it was here.
    pub(super) fn remove(&mut self, group: u64) -> bool {
        let place = self.all.iter().enumerate().find_map(|(number, cell)| {
            Some((number, cell.exemplars.iter().position(|exemplar| exemplar.group == group)?))
        });
        let Some((number, at)) = place else { return false };
        let (cell, d) = (&mut self.all[number], self.dimensions);
        cell.exemplars.remove(at);
        cell.values.drain(at * d..(at + 1) * d);
        cell.layout(&self.metric);
        self.count -= 1;
        true
    }

    /// For each of the rows, its nearest cells, nearest first.
    fn nearest_cells(&self, points: &Points<'_>, rows: &[usize]) -> Result<Vec<Vec<u32>>, RunError> {
        let Some(pivots) = &self.pivots else { return Ok(vec![Vec::new(); rows.len()]) };
        let count = pivots.len();
        let blocks: Result<Vec<Vec<Vec<u32>>>, RunError> = rows
            .par_chunks(BLOCK)
            .map_init(Tile::default, |tile, rows| {
                let block = pivots.block(points, rows);
                pivots.ranks(&block, 0..count, tile)?;
                let nearest = |row: usize| {
                    let ranks = tile.row(row);
                    let order =
                        |a: &u32, b: &u32| ranks[*a as usize].total_cmp(&ranks[*b as usize]).then(a.cmp(b));
                    let mut cells: Vec<u32> = (0..count as u32).collect();
                    if count > PROBED {
                        cells.select_nth_unstable_by(PROBED, order);
                        cells.truncate(PROBED);
                    }
                    cells.sort_unstable_by(order);
                    cells
                };
                Ok((0..rows.len()).map(nearest).collect())
            })
            .collect();
        Ok(blocks?.into_iter().flatten().collect())
    }

    /// Divides a cell until none of its parts is full, and lays them out.
    fn settle(&mut self, cell: usize) -> Result<(), RunError> {
        let mut waiting = vec![cell];
        while let Some(number) = waiting.pop() {
            self.all[number].layout(&self.metric);
            if self.all[number].exemplars.len() <= FULL {
                continue;
            }
            if let Some(half) = self.all[number].divide(&self.metric, self.dimensions)? {
                self.pivots = None;
                self.all.push(half);
                waiting.extend([number, self.all.len() - 1]);
            }
        }
        Ok(())
    }

    fn layout_pivots(&mut self) {
        if self.pivots.is_none() {
            let values: Vec<f32> = self.all.iter().flat_map(|cell| &cell.pivot).copied().collect();
            self.pivots = Some(layout(&self.metric, &values, self.dimensions));
        }
    }
}

impl Cell {
    /// An empty cell.
    fn around(pivot: Vec<f32>, metric: &Metric) -> Self {
        let columns = layout(metric, &[], pivot.len());
        Self { pivot, exemplars: Vec::new(), values: Vec::new(), columns }
    }

    fn layout(&mut self, metric: &Metric) {
        self.columns = layout(metric, &self.values, self.pivot.len());
    }

    /// Of the visiting rows, those that lie within the radius of an exemplar here, each with the nearest.
    fn receive(
        &self,
        points: &Points<'_>,
        rows: &[usize],
        visitors: &[usize],
        tile: &mut Tile,
    ) -> Result<Vec<(usize, FoundGroup)>, RunError> {
        let indices: Vec<usize> = visitors.iter().map(|&position| rows[position]).collect();
        let block: RowBlock = self.columns.block(points, &indices);
        self.columns.ranks(&block, 0..self.exemplars.len(), tile)?;
        let mut found = Vec::new();
        for (row, &position) in visitors.iter().enumerate() {
            let mut best = None;
            for (exemplar, &rank) in self.exemplars.iter().zip(tile.row(row)) {
                let candidate = FoundGroup { group: exemplar.group, rank };
                if rank <= exemplar.bound && candidate.is_before(best) {
                    best = Some(candidate);
                }
            }
            found.extend(best.map(|best| (position, best)));
        }
        Ok(found)
    }

    /// Takes away what lies nearer to a second pivot, the member that divides the cell most evenly. Nothing where all are alike.
    fn divide(&mut self, metric: &Metric, dimensions: usize) -> Result<Option<Self>, RunError> {
        let count = self.exemplars.len();
        let members = Points::ready(self.values.as_slice(), dimensions);
        let candidates: Vec<usize> =
            (0..CANDIDATES).map(|i| (2 * i + 1) * count / (2 * CANDIDATES)).collect();
        let mut values = self.pivot.clone();
        values.extend(members.gather(&candidates));
        let heads = Points::ready(values, dimensions);
        let all: Vec<usize> = (0..=CANDIDATES).collect();
        let mut tile = Tile::default();
        self.columns.ranks(&self.columns.block(&heads, &all), 0..count, &mut tile)?;
        let leaving = |candidate: usize| -> Vec<usize> {
            let (own, other) = (tile.row(0), tile.row(candidate));
            (0..count).filter(|&at| other[at] < own[at]).collect()
        };
        let halves = (1..=CANDIDATES).map(|candidate| (candidate, leaving(candidate)));
        let even = |leaving: usize| leaving.min(count - leaving);
        let (head, leaving) = halves.max_by_key(|(_, leaving)| even(leaving.len())).expect("some candidate");
        if even(leaving.len()) == 0 {
            return Ok(None);
        }
        let mut half = Self::around(heads.gather(&[head]), metric);
        half.values = members.gather(&leaving);
        half.exemplars = leaving.iter().map(|&at| self.exemplars[at]).collect();
        let mut goes = vec![false; count];
        for &at in &leaving {
            goes[at] = true;
        }
        let staying: Vec<usize> = (0..count).filter(|&at| !goes[at]).collect();
        let values = members.gather(&staying);
        self.exemplars = staying.iter().map(|&at| self.exemplars[at]).collect();
        self.values = values;
        Ok(Some(half))
    }
}

fn layout(metric: &Metric, values: &[f32], dimensions: usize) -> Box<dyn Columns> {
    let all: Vec<usize> = (0..values.len() / dimensions).collect();
    distance::columns(metric, &Points::ready(values, dimensions), &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(count: usize, dimensions: usize) -> Vec<f32> {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        (0..count * dimensions).map(|_| next()).collect()
    }

    #[test]
    fn cells_find_what_a_search_through_everything_finds() {
        let (count, d) = (6_000, 3);
        let values = random(count, d);
        let points = Points::ready(values.as_slice(), d);
        let mut cells = Cells::new(Metric::Euclidean, d);
        let rows: Vec<usize> = (0..count).step_by(2).collect();
        let exemplars: Vec<Exemplar> = rows.iter().map(|&row| cells.exemplar(row as u64, 0.05)).collect();
        for (rows, exemplars) in rows.chunks(700).zip(exemplars.chunks(700)) {
            cells.insert(&points, rows, exemplars).unwrap();
        }
        assert_eq!(cells.len(), rows.len());
        assert!(cells.all.len() > 4, "{} cells", cells.all.len());
        assert!(cells.all.iter().all(|cell| cell.exemplars.len() <= FULL));
        let queries: Vec<usize> = (1..count).step_by(2).collect();
        let found = cells.find(&points, &queries).unwrap();
        let everything = layout(&Metric::Euclidean, &points.gather(&rows), d);
        let (mut tile, mut missed) = (Tile::default(), 0);
        for (&query, found) in queries.iter().zip(&found) {
            everything.ranks(&everything.block(&points, &[query]), 0..rows.len(), &mut tile).unwrap();
            let nearest = tile.row(0).iter().copied().fold(f32::INFINITY, f32::min);
            let expected = Some(nearest).filter(|rank| *rank <= exemplars[0].bound);
            missed += usize::from(found.map(|found| found.rank) != expected);
        }
        assert_eq!(missed, 0, "{} cells, of which {PROBED} are probed", cells.all.len());
        assert!(cells.remove(4) && !cells.remove(4) && !cells.remove(5));
        assert_eq!(cells.find(&points, &[4]).unwrap()[0].map_or(0, |found| found.group), 0);
    }

    #[test]
    fn a_thousand_equal_exemplars_stay_together() {
        let values = vec![1.0; 1_100];
        let points = Points::ready(values.as_slice(), 1);
        let mut cells = Cells::new(Metric::Manhattan, 1);
        let rows: Vec<usize> = (0..1_100).collect();
        let exemplars: Vec<Exemplar> = rows.iter().map(|&row| cells.exemplar(row as u64, 0.0)).collect();
        cells.insert(&points, &rows, &exemplars).unwrap();
        assert_eq!(cells.all.len(), 1);
        assert_eq!(cells.find(&points, &[3]).unwrap(), [Some(FoundGroup { group: 0, rank: 0.0 })]);
    }
}
