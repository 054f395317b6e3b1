//! What a practitioner would reach for instead: distances to neighbours or class means, Gaussians, the scores of a linear
//! classifier, forests and support vector machines, each thresholded.

mod error;
mod forest;
mod gaussian;
mod linear;
mod machines;
mod neighbors;
mod posthoc;
mod residual;
mod rows;
mod standard;

use evmachine::labels::are_same;
use evmachine::{Features, Labels, Metric, Run};
use evmachine_forest::ForestOptions;
use serde::Serialize;

use crate::answers::Answers;
pub use error::RivalError;
use error::same_size;
use gaussian::Gaussian;
pub use linear::Linear;
use linear::Logits;
pub use neighbors::class_distances;
use posthoc::Posthoc;
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
    /// A linear classifier, by the generalised entropy of its probabilities.
    Gen,
    /// A linear classifier, by its energy times the energy of training rows in the same direction.
    NnGuide,
    /// A linear classifier, by the nearness of the row to the weights of its class: neural collapse.
    Nci,
    /// A linear classifier, by the distances to its decision boundaries.
    Fdbd,
    /// A linear classifier, by the product of the row with the mean of its class.
    She,
    /// A linear classifier, by its largest logit over how far the row is from its class, dimension by dimension.
    Ghost,
    /// A linear classifier, by its largest logit over the length of the row.
    PostMax,
    /// A linear classifier, by its largest logit and the cosines to the mean of its class, with and without its weights.
    Costarr,
    /// 300 extremely randomised trees, by their largest probability.
    ExtraTrees,
    /// A random forest of 300 trees, by its largest probability.
    RandomForest,
    /// Gradient-boosted trees, by their largest probability.
    BoostedTrees,
    /// RBF support vector machines, each class against the others, by the largest decision value.
    RbfSvm,
}

impl Rival {
    /// All of them.
    pub const ALL: [Self; 24] = [
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
        Self::Gen,
        Self::NnGuide,
        Self::Nci,
        Self::Fdbd,
        Self::She,
        Self::Ghost,
        Self::PostMax,
        Self::Costarr,
        Self::ExtraTrees,
        Self::RandomForest,
        Self::BoostedTrees,
        Self::RbfSvm,
    ];

    /// Those that take seconds with so many training rows on two cores, where they are asked again and again: forests look at some
    /// `rows sqrt(columns)` values on each level of each tree, support vector machines at pairs of rows.
    pub fn quick(rows: usize, columns: usize) -> Vec<Self> {
        let values = rows * columns.isqrt().max(1);
        let is_quick = |rival: &Self| match rival {
            Self::ExtraTrees => values <= 400_000,
            Self::RandomForest | Self::BoostedTrees => values <= 100_000,
            Self::RbfSvm => rows <= 10_000,
            _ => true,
        };
        Self::ALL.into_iter().filter(is_quick).collect()
    }

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
            Self::Gen => "logistic regression, GEN".to_owned(),
            Self::NnGuide => "logistic regression, NNGuide".to_owned(),
            Self::Nci => "logistic regression, NCI".to_owned(),
            Self::Fdbd => "logistic regression, fDBD".to_owned(),
            Self::She => "logistic regression, SHE".to_owned(),
            Self::Ghost => "logistic regression, GHOST".to_owned(),
            Self::PostMax => "logistic regression, PostMax".to_owned(),
            Self::Costarr => "logistic regression, COSTARR".to_owned(),
            Self::ExtraTrees => "extra trees".to_owned(),
            Self::RandomForest => "random forest".to_owned(),
            Self::BoostedTrees => "boosted trees".to_owned(),
            Self::RbfSvm => "RBF SVM, one-vs-rest".to_owned(),
        }
    }

    /// Whether it can be asked where distances are those of `metric`: Gaussians and linear classifiers need a metric
    /// that comes from a scalar product. Forests know no distances; support vector machines bring their own, for rows that
    /// Euclid's suits.
    pub fn serves(self, metric: &Metric) -> bool {
        match self {
            Self::NearestNeighbors(_)
            | Self::NearestClassMean
            | Self::ExtraTrees
            | Self::RandomForest
            | Self::BoostedTrees => true,
            Self::RbfSvm => *metric == Metric::Euclidean,
            _ => metric.is_linear(),
        }
    }

    /// Whether it makes its score of the logits of a linear classifier.
    pub fn is_linear(self) -> bool {
        matches!(self, Self::LargestLogit | Self::LargestProbability | Self::Energy | Self::Vim)
            || self.is_posthoc()
    }

    /// Whether it needs standardised features beside the logits.
    fn is_posthoc(self) -> bool {
        matches!(
            self,
            Self::Gen
                | Self::NnGuide
                | Self::Nci
                | Self::Fdbd
                | Self::She
                | Self::Ghost
                | Self::PostMax
                | Self::Costarr
        )
    }

    /// Whether it can be trained in minutes, not hours: boosted trees look at every column, and support vector machines at pairs of rows.
    fn is_affordable(self, rows: usize, columns: usize) -> bool {
        match self {
            Self::BoostedTrees => columns < 200,
            Self::RbfSvm => rows <= 20_000,
            _ => true,
        }
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
/// metric does not [serve](Rival::serves), linear ones where there is no linear classifier, boosted trees from 200 columns on, and
/// support vector machines above 20,000 rows.
///
/// What rivals have in common, such as the distances of neighbours, however many are counted, is computed once. With n
/// training rows, q queries and d dimensions neighbours cost `n q d` multiplications, each of the two Gaussians
/// `(n + q) d^2 / 2`, and [`Rival::Vim`] that and about `9 d^3`: all of them together a few seconds for 10,000 rows of
/// 1,280 dimensions and 2,000 queries on two cores. [`Rival::NnGuide`] costs as much as neighbours, forests see [`Rival::quick`].
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
/// for (rival, answers) in rivals(&contest, &[Rival::NearestNeighbors(1), Rival::Mahalanobis])? {
///     assert!(answers.score[0] > answers.score[1], "{}", rival.name());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(clippy::disallowed_methods, reason = "the plain form, for who has no run")]
pub fn rivals(contest: &Contest<'_>, chosen: &[Rival]) -> Result<Vec<(Rival, Answers)>, RivalError> {
    rivals_with(&Run::new(), contest, chosen)
}

/// As [`rivals`], watched and sized by `run`.
pub fn rivals_with(
    run: &Run<'_>,
    contest: &Contest<'_>,
    chosen: &[Rival],
) -> Result<Vec<(Rival, Answers)>, RivalError> {
    let &Contest { metric, train: (features, labels), truth, .. } = contest;
    contest.check()?;
    let train = Rows::checked(metric, features, "training rows")?;
    let queries = Rows::checked(metric, contest.queries, "queries")?;
    let linear = contest.linear.as_ref();
    let chosen: Vec<Rival> = chosen
        .iter()
        .copied()
        .filter(|rival| rival.serves(metric) && (linear.is_some() || !rival.is_linear()))
        .filter(|rival| rival.is_affordable(features.rows(), features.columns()))
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

    let asked: Vec<Rival> = chosen.iter().copied().filter(|rival| rival.is_posthoc()).collect();
    let train_logits = linear.filter(|_| !asked.is_empty() || wanted(&[Rival::Vim]));
    let train_logits: Vec<Logits> = train_logits.map(|linear| linear.logits(&train)).unwrap_or_default();
    let mut posthoc = match linear.filter(|_| !asked.is_empty()) {
        Some(&linear) => {
            posthoc_scores((&train, labels), linear, &train_logits, &queries, &asked).into_iter()
        }
        None => Vec::new().into_iter(),
    };

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
                let residual = Residual::fit(&train, linear, &train_logits)?;
                let outside = residual.virtual_logits(&queries);
                logits.iter().zip(outside).map(|(row, outside)| (row.best, row.energy() - outside)).collect()
            }
            Rival::ExtraTrees => {
                forest::independent(run, &ForestOptions::extra_trees(), (&train, labels), &queries)?
            }
            Rival::RandomForest => {
                forest::independent(run, &ForestOptions::random_forest(), (&train, labels), &queries)?
            }
            Rival::BoostedTrees => forest::boosted(run, (&train, labels), &queries)?,
            Rival::RbfSvm => machines::one_vs_rest((&train, labels), &queries)?,
            _ => posthoc.next().unwrap_or_else(|| unreachable!("there are scores of each that was asked")),
        };
        all.push((rival, collect(&scores, truth)));
    }
    Ok(all)
}

/// The scores of each of `asked`, in their order.
fn posthoc_scores(
    train: (&Rows<'_>, &Labels),
    linear: Linear<'_>,
    logits: &[Logits],
    queries: &Rows<'_>,
    asked: &[Rival],
) -> Vec<Vec<(usize, f64)>> {
    let posthoc = Posthoc::fit(train, linear, logits);
    let plain: Vec<Rival> = asked.iter().copied().filter(|rival| *rival != Rival::NnGuide).collect();
    let mut plain = posthoc.scores(queries, &plain).into_iter();
    let scores = asked.iter().map(|rival| match rival {
        Rival::NnGuide => posthoc.guided(train.0, logits, queries),
        _ => plain.next().unwrap_or_else(|| unreachable!("there are scores of each that is plain")),
    });
    scores.collect()
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

/// The largest value and where it stands; the first of equal ones.
fn largest_of(values: impl Iterator<Item = f64>) -> (usize, f64) {
    let start = (0, f64::NEG_INFINITY);
    values.enumerate().fold(start, |best, next| if next.1 > best.1 { next } else { best })
}

/// Classes and scores beside the truth, everything accepted.
fn collect(scores: &[(usize, f64)], truth: &[Option<usize>]) -> Answers {
    let mut collected = Answers::default();
    for (&(best, score), &truth) in scores.iter().zip(truth) {
        collected.push(truth, best, score, true);
    }
    collected
}
