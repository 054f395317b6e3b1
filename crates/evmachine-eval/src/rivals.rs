//! What a practitioner would reach for instead: distances to neighbours or class means, Gaussians, and the scores of a
//! linear classifier, each thresholded.

mod error;
mod gaussian;
mod linear;
mod neighbors;
mod residual;
mod rows;

use evmachine::labels::are_same;
use evmachine::{Features, Labels, Metric};
use serde::Serialize;

use crate::answers::Answers;
pub use error::RivalError;
use error::same_size;
use gaussian::Gaussian;
pub use linear::Linear;
pub use neighbors::class_distances;
use residual::Residual;
use rows::Rows;

/// A classifier whose score says how surely a row is of a known class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rival {
    /// The class whose `k` nearest points have the smallest mean distance; k = 1 is the nearest neighbour.
    NearestNeighbors(usize),
    /// The class whose mean is nearest.
    NearestClassMean,
    /// The class whose mean is nearest by Mahalanobis' distance under the covariance within classes.
    Mahalanobis,
    /// The same, less the distance to the mean of all rows under the covariance of all rows.
    RelativeMahalanobis,
    /// A linear classifier, by its largest logit.
    LargestLogit,
    /// A linear classifier, by the logarithm of its largest probability.
    LargestProbability,
    /// A linear classifier, by `ln sum exp` of its logits.
    Energy,
    /// A linear classifier, by virtual logit matching: the energy less how far the row lies outside the subspace that
    /// training rows fill.
    Vim,
}

impl Rival {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::NearestNeighbors(1),
        Self::NearestNeighbors(3),
        Self::NearestNeighbors(5),
        Self::NearestNeighbors(10),
        Self::NearestNeighbors(20),
        Self::NearestClassMean,
        Self::Mahalanobis,
        Self::RelativeMahalanobis,
        Self::LargestLogit,
        Self::LargestProbability,
        Self::Energy,
        Self::Vim,
    ];

    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Self::NearestNeighbors(1) => "1-NN".to_owned(),
            Self::NearestNeighbors(k) => format!("{k}-NN per class"),
            Self::NearestClassMean => "nearest class mean".to_owned(),
            Self::Mahalanobis => "Mahalanobis".to_owned(),
            Self::RelativeMahalanobis => "relative Mahalanobis".to_owned(),
            Self::LargestLogit => "logistic regression, largest logit".to_owned(),
            Self::LargestProbability => "logistic regression, largest probability".to_owned(),
            Self::Energy => "logistic regression, energy".to_owned(),
            Self::Vim => "logistic regression, ViM".to_owned(),
        }
    }

    /// Whether it can be asked where distances are those of `metric`: Gaussians and linear classifiers need a metric
    /// that comes from a scalar product.
    pub fn serves(self, metric: &Metric) -> bool {
        metric.is_linear() || matches!(self, Self::NearestNeighbors(_) | Self::NearestClassMean)
    }

    /// Whether it makes its score of the logits of a linear classifier.
    pub fn is_linear(self) -> bool {
        matches!(self, Self::LargestLogit | Self::LargestProbability | Self::Energy | Self::Vim)
    }
}

/// The class of each query as a position in the names of the training labels; `None` for another one.
pub fn truth(train: &Labels, queries: &Labels) -> Vec<Option<usize>> {
    let class_of = |name: &String| train.names().iter().position(|known| are_same(known, name));
    let classes: Vec<Option<usize>> = queries.names().iter().map(class_of).collect();
    queries.ids().iter().map(|&id| classes[id as usize]).collect()
}

/// What rivals learn from, and what they are asked.
#[derive(Debug, Clone, Copy)]
pub struct Contest<'a> {
    /// Says how far apart rows are. For cosine all rivals see rows of unit length.
    pub metric: &'a Metric,
    /// Rows to learn from.
    pub train: (&'a Features<'a>, &'a Labels),
    /// Rows to answer.
    pub queries: &'a Features<'a>,
    /// The class of each query, as [`truth`] says.
    pub truth: &'a [Option<usize>],
    /// The classifier of the linear rivals, trained on the same rows.
    pub linear: Option<Linear<'a>>,
}

/// The answers of each of `chosen` that can be asked, in their order, everything accepted. Left out are those that the
/// metric does not [serve](Rival::serves), and linear ones where there is no linear classifier.
///
/// What rivals have in common, such as the distances of neighbours, however many are counted, is computed once. With n
/// training rows, q queries and d dimensions neighbours cost `n q d` multiplications, each of the two Gaussians
/// `(n + q) d^2 / 2`, and [`Rival::Vim`] that and about `9 d^3`: all of them together a few seconds for 10,000 rows of
/// 1,280 dimensions and 2,000 queries on two cores.
///
/// ```
/// use evmachine::{Features, Labels, Metric};
/// use evmachine_eval::rivals::{Contest, Rival, rivals, truth};
///
/// let train = Features::new(vec![0.0, 0.2, 5.0, 5.2], 1)?;
/// let labels = Labels::new(["low", "low", "high", "high"])?;
/// let queries = Features::new(vec![0.1, 9.0], 1)?;
/// let truth = truth(&labels, &Labels::new(["low", "another"])?);
/// assert_eq!(truth, [Some(0), None]);
/// let contest = Contest {
///     metric: &Metric::Euclidean,
///     train: (&train, &labels),
///     queries: &queries,
///     truth: &truth,
///     linear: None,
/// };
/// for (rival, answers) in rivals(&contest, &Rival::ALL)? {
///     assert!(answers.score[0] > answers.score[1], "{}", rival.name());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rivals(contest: &Contest<'_>, chosen: &[Rival]) -> Result<Vec<(Rival, Answers)>, RivalError> {
    let &Contest { metric, train: (features, labels), truth, .. } = contest;
    contest.check()?;
    let train = Rows::checked(metric, features, "training rows")?;
    let queries = Rows::checked(metric, contest.queries, "queries")?;
    let linear = contest.linear.as_ref();
    let chosen: Vec<Rival> = chosen
        .iter()
        .copied()
        .filter(|rival| rival.serves(metric) && (linear.is_some() || !rival.is_linear()))
        .collect();
    let wanted = |rivals: &[Rival]| chosen.iter().any(|rival| rivals.contains(rival));

    let counts: Vec<usize> = chosen
        .iter()
        .filter_map(|rival| if let Rival::NearestNeighbors(k) = rival { Some(*k) } else { None })
        .collect();
    let mut neighbors = if counts.is_empty() {
        Vec::new().into_iter()
    } else {
        neighbors::nearest(metric, (&train, labels.ids()), &queries, &counts)?.into_iter()
    };
    let classes = if wanted(&[Rival::Mahalanobis, Rival::RelativeMahalanobis]) {
        let class_of = |row: usize| labels.ids()[row] as usize;
        Gaussian::fit(&train, labels.names().len(), class_of)?.nearest(&queries)
    } else {
        Vec::new()
    };
    let logits = linear.filter(|_| chosen.iter().any(|rival| rival.is_linear()));
    let logits = logits.map(|linear| linear.logits(&queries)).unwrap_or_default();

    let mut all = Vec::with_capacity(chosen.len());
    for rival in chosen {
        let far = |&(class, distance): &(usize, f64)| (class, -distance);
        let scores: Vec<(usize, f64)> = match rival {
            Rival::NearestNeighbors(_) => neighbors
                .next()
                .unwrap_or_else(|| unreachable!("there is an answer for each count"))
                .iter()
                .map(far)
                .collect(),
            Rival::NearestClassMean => {
                neighbors::nearest_mean(metric, (&train, labels), &queries)?.iter().map(far).collect()
            }
            Rival::Mahalanobis => classes.iter().map(far).collect(),
            Rival::RelativeMahalanobis => {
                let whole = Gaussian::fit(&train, 1, |_| 0)?.nearest(&queries);
                classes.iter().zip(whole).map(|(own, whole)| (own.0, whole.1 - own.1)).collect()
            }
            Rival::LargestLogit => logits.iter().map(|row| (row.best, row.largest)).collect(),
            Rival::LargestProbability => logits.iter().map(|row| (row.best, -row.surplus)).collect(),
            Rival::Energy => logits.iter().map(|row| (row.best, row.energy())).collect(),
            Rival::Vim => {
                let Some(linear) = linear else { continue };
                let residual = Residual::fit(&train, linear, &linear.logits(&train))?;
                let outside = residual.virtual_logits(&queries);
                logits.iter().zip(outside).map(|(row, outside)| (row.best, row.energy() - outside)).collect()
            }
        };
        all.push((rival, collect(&scores, truth)));
    }
    Ok(all)
}

impl Contest<'_> {
    fn check(&self) -> Result<(), RivalError> {
        let (features, labels) = self.train;
        if features.rows() == 0 {
            return Err(RivalError::NoRows);
        }
        same_size("labels of the training rows", features.rows(), labels.len())?;
        same_size("columns of the queries", features.columns(), self.queries.columns())?;
        same_size("true classes of the queries", self.queries.rows(), self.truth.len())?;
        self.linear.map_or(Ok(()), |linear| linear.check(features.columns(), labels.names().len()))
    }
}

/// The smallest distance and where it stands; the first of equal ones.
fn nearest_of(distances: impl Iterator<Item = f64>) -> (usize, f64) {
    let start = (0, f64::INFINITY);
    distances.enumerate().fold(start, |best, next| if next.1 < best.1 { next } else { best })
}

/// Classes and scores beside the truth, everything accepted.
fn collect(scores: &[(usize, f64)], truth: &[Option<usize>]) -> Answers {
    let mut collected = Answers::default();
    for (&(best, score), &truth) in scores.iter().zip(truth) {
        collected.push(truth, best, score, true);
    }
    collected
}
