//! The nearest points of each class, and the nearest class mean.

use std::ops::Range;

use evmachine::tuning::DistanceTable;
use evmachine::{Evm, Features, Labels, Metric, MetricError};
use rayon::prelude::*;

use super::error::RivalError;
use super::nearest_of;
use super::rows::{Rows, blocks, squared_lengths};

/// Queries measured at a time; each takes 4 bytes for each training row.
const QUERIES: usize = 512;

/// For each query, the mean distance to the `k` nearest points of each class, from distances to all training points
/// of `model`.
pub fn class_distances(model: &Evm, table: &DistanceTable, k: usize) -> Vec<Vec<f64>> {
    let sizes: Vec<usize> = model.classes().map(|class| class.extreme_vectors).collect();
    (0..table.rows())
        .into_par_iter()
        .map(|row| means_of_nearest(table.row(row), &sizes, &[k]).remove(0))
        .collect()
}

/// For each of `counts`, and each query, the class of `ids` whose so many nearest rows have the smallest mean distance, and that
/// mean. Costs one distance for each pair of query and training row, in double precision.
pub(crate) fn nearest(
    metric: &Metric,
    (train, ids): (&Rows<'_>, &[u32]),
    queries: &Rows<'_>,
    counts: &[usize],
) -> Result<Vec<Vec<(usize, f64)>>, RivalError> {
    let mut order: Vec<usize> = (0..train.len()).collect();
    order.sort_by_key(|&row| ids[row]);
    let mut sizes = vec![0; ids.iter().max().map_or(0, |&last| last as usize + 1)];
    for &id in ids {
        sizes[id as usize] += 1;
    }
    let mut nearest = vec![Vec::with_capacity(queries.len()); counts.len()];
    for first in (0..queries.len()).step_by(QUERIES) {
        let rows = first..(first + QUERIES).min(queries.len());
        let distances = measured(metric, (train, &order), (queries, rows))?;
        let best: Vec<Vec<(usize, f64)>> = distances
            .par_chunks_exact(train.len())
            .map(|distances| {
                let means = means_of_nearest(distances, &sizes, counts);
                means.into_iter().map(|means| nearest_of(means.into_iter())).collect()
            })
            .collect();
        for best in best {
            nearest.iter_mut().zip(best).for_each(|(all, best)| all.push(best));
        }
    }
    Ok(nearest)
}

/// The class whose mean is nearest to each query, and the distance to it. Means are taken of unit vectors for cosine.
pub(crate) fn nearest_mean(
    metric: &Metric,
    (train, labels): (&Rows<'_>, &Labels),
    queries: &Rows<'_>,
) -> Result<Vec<(usize, f64)>, RivalError> {
    let means = train.means(labels.names().len(), |row| labels.ids()[row] as usize);
    if !metric.is_linear() {
        let values: Vec<f64> = means.col_iter().flat_map(|mean| mean.iter().copied()).collect();
        let means = Features::from_f64(&values, train.dimensions())?;
        let classes: Vec<u32> = (0..).take(means.rows()).collect();
        return Ok(nearest(metric, (&Rows::new(metric, &means), &classes), queries, &[1])?.remove(0));
    }
    let squares = squared_lengths(&means);
    let mut nearest = Vec::with_capacity(queries.len());
    for block in queries.blocks() {
        let columns = queries.columns(block);
        let products = means.transpose() * &columns;
        nearest.extend(products.col_iter().zip(squared_lengths(&columns)).map(|(products, own)| {
            let pairs = products.iter().zip(&squares);
            nearest_of(pairs.map(|(product, square)| distance(metric, *product, (own, *square))))
        }));
    }
    Ok(nearest)
}

/// Distances of some queries to the training rows in the given order, query after query.
fn measured(
    metric: &Metric,
    (train, order): (&Rows<'_>, &[usize]),
    (queries, rows): (&Rows<'_>, Range<usize>),
) -> Result<Vec<f32>, RivalError> {
    let mut distances = vec![0.0f32; rows.len() * order.len()];
    if !metric.is_linear() {
        let chunks = distances.par_chunks_exact_mut(order.len().max(1)).zip(rows);
        chunks.try_for_each(|(distances, query)| {
            distances.iter_mut().zip(order).try_for_each(|(distance, &row)| {
                *distance = pair(metric, queries.raw(query), train.raw(row))?;
                Ok::<(), MetricError>(())
            })
        })?;
        return Ok(distances);
    }
    let of = queries.columns(rows);
    let squares = squared_lengths(&of);
    for block in blocks(order.len()) {
        let columns = train.columns(order[block.clone()].iter().copied());
        let own = squared_lengths(&columns);
        let products = columns.transpose() * &of;
        distances.par_chunks_exact_mut(order.len()).enumerate().for_each(|(query, distances)| {
            let products = products.col(query);
            let pairs = products.iter().zip(&own);
            for (to, (product, own)) in distances[block.clone()].iter_mut().zip(pairs) {
                *to = distance(metric, *product, (squares[query], *own)) as f32;
            }
        });
    }
    Ok(distances)
}

/// The distance of two vectors from their scalar product and their squared lengths, neither of which need be 1.
fn distance(metric: &Metric, product: f64, (a, b): (f64, f64)) -> f64 {
    // Rounding alone can make either negative.
    match metric {
        Metric::Cosine => (1.0 - product / (a * b).sqrt().max(f64::MIN_POSITIVE)).max(0.0),
        _ => (a + b - 2.0 * product).max(0.0).sqrt(),
    }
}

/// The distance of metrics that do not come from a scalar product.
fn pair(metric: &Metric, a: &[f32], b: &[f32]) -> Result<f32, MetricError> {
    let Metric::Custom(own) = metric else {
        return Ok(a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs()).sum::<f64>() as f32);
    };
    let value = own.distance(a, b);
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(MetricError { name: own.name().to_owned(), value })
    }
}

/// For each of `counts`, the mean of the so many smallest distances of each class; `distances` holds the classes one
/// after the other, as many of each as `sizes` says. A class of fewer gives the mean of all of them.
fn means_of_nearest(distances: &[f32], sizes: &[usize], counts: &[usize]) -> Vec<Vec<f64>> {
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut means = vec![Vec::with_capacity(sizes.len()); counts.len()];
    let mut rest = distances;
    for &size in sizes {
        let (own, others) = rest.split_at(size);
        rest = others;
        let mut nearest = own.to_vec();
        if most < size {
            nearest.select_nth_unstable_by(most - 1, f32::total_cmp);
            nearest.truncate(most);
        }
        nearest.sort_unstable_by(f32::total_cmp);
        for (means, &count) in means.iter_mut().zip(counts) {
            let nearest = &nearest[..count.clamp(1, size)];
            means.push(
                nearest.iter().map(|&distance| f64::from(distance)).sum::<f64>() / nearest.len() as f64,
            );
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_the_nearest_of_each_class() {
        let distances = [4.0, 1.0, 2.0, 7.0, 3.0];
        let means = means_of_nearest(&distances, &[3, 2], &[1, 2, 9]);
        assert_eq!(means, [[1.0, 3.0], [1.5, 5.0], [7.0 / 3.0, 5.0]]);
    }

    #[test]
    fn products_measure_like_pairs() {
        let train = Features::new(vec![1.0, 0.0, 3.0, 4.0, 0.0, 2.0], 2).unwrap();
        let queries = Features::new(vec![0.0, 1.0, 3.0, 3.0], 2).unwrap();
        let find = |metric: Metric, counts: &[usize]| {
            let (train, queries) = (Rows::new(&metric, &train), Rows::new(&metric, &queries));
            nearest(&metric, (&train, &[0, 1, 0]), &queries, counts).unwrap()
        };
        let narrow = |value: f64| f64::from(value as f32);
        // Class a is at (1, 0) and (0, 2), class b at (3, 4).
        let euclidean = find(Metric::Euclidean, &[1, 2]);
        assert_eq!(euclidean[0], [(0, 1.0), (1, 1.0)]);
        assert_eq!(euclidean[1], [(0, f64::midpoint(1.0, narrow(2f64.sqrt()))), (1, 1.0)]);
        assert_eq!(find(Metric::Manhattan, &[1])[0], [(0, 1.0), (1, 1.0)]);
        let cosine = find(Metric::Cosine, &[1]);
        assert_eq!(cosine[0][0], (0, 0.0));
        assert_eq!(cosine[0][1], (1, narrow(1.0 - 7.0 / (5.0 * 2f64.sqrt()))));
    }

    #[test]
    fn the_nearest_mean_is_that_of_unit_vectors_for_cosine() {
        let train = Features::new(vec![10.0, 0.0, 0.0, 1.0, -3.0, 0.0], 2).unwrap();
        let labels = Labels::new(["a", "a", "b"]).unwrap();
        let queries = Features::new(vec![2.0, 2.0, -1.0, 0.1], 2).unwrap();
        let metric = Metric::Cosine;
        let (train, queries) = (Rows::new(&metric, &train), Rows::new(&metric, &queries));
        let found = nearest_mean(&metric, (&train, &labels), &queries).unwrap();
        assert!(found[0].0 == 0 && found[0].1 < 1e-7, "{found:?}");
        assert_eq!(found[1].0, 1);
    }

    #[test]
    fn a_metric_that_gives_no_distance_is_an_error() {
        #[derive(Debug)]
        struct Broken;
        impl evmachine::Distance for Broken {
            fn name(&self) -> &'static str {
                "broken"
            }
            fn distance(&self, _: &[f32], _: &[f32]) -> f32 {
                -1.0
            }
        }
        let metric = Metric::custom(Broken);
        let train = Features::new(vec![1.0, 2.0], 1).unwrap();
        let rows = Rows::new(&metric, &train);
        let error = nearest(&metric, (&rows, &[0, 1]), &rows, &[1]).unwrap_err();
        assert!(error.to_string().contains("broken"), "{error}");
    }
}
