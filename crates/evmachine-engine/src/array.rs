//! Features from matrices of the crate `ndarray`, and as such.

use ndarray::{Array2, ArrayView2};

use crate::error::FeatureError;
use crate::features::Features;

impl<'a> TryFrom<ArrayView2<'a, f32>> for Features<'a> {
    type Error = FeatureError;

    /// Borrows a matrix that lies row after row without gaps, and copies every other.
    ///
    /// ```
    /// use evmachine::Features;
    /// use ndarray::array;
    ///
    /// let matrix = array![[0.0f32, 1.0], [2.0, 3.0]];
    /// let features = Features::try_from(matrix.view())?;
    /// assert_eq!(features.values().as_ptr(), matrix.as_ptr(), "no copy was made");
    /// assert_eq!(Features::try_from(matrix.t())?.values(), [0.0, 2.0, 1.0, 3.0]);
    /// # Ok::<(), evmachine::FeatureError>(())
    /// ```
    fn try_from(matrix: ArrayView2<'a, f32>) -> Result<Self, FeatureError> {
        let columns = matrix.ncols();
        match matrix.to_slice() {
            Some(values) => Features::new(values, columns),
            None => Features::new(matrix.iter().copied().collect::<Vec<f32>>(), columns),
        }
    }
}

impl<'a> TryFrom<&'a Array2<f32>> for Features<'a> {
    type Error = FeatureError;

    /// As from the view of the matrix.
    fn try_from(matrix: &'a Array2<f32>) -> Result<Self, FeatureError> {
        matrix.view().try_into()
    }
}

impl TryFrom<ArrayView2<'_, f64>> for Features<'static> {
    type Error = FeatureError;

    /// Copies. A value that is not finite as an `f32` is an error naming its row and column.
    fn try_from(matrix: ArrayView2<'_, f64>) -> Result<Self, FeatureError> {
        let columns = matrix.ncols();
        match matrix.to_slice() {
            Some(values) => Features::from_f64(values, columns),
            None => Features::from_f64(&matrix.iter().copied().collect::<Vec<f64>>(), columns),
        }
    }
}

impl TryFrom<&Array2<f64>> for Features<'static> {
    type Error = FeatureError;

    /// As from the view of the matrix.
    fn try_from(matrix: &Array2<f64>) -> Result<Self, FeatureError> {
        matrix.view().try_into()
    }
}

impl<'a> From<&'a Features<'_>> for ArrayView2<'a, f32> {
    /// Never copies.
    fn from(features: &'a Features<'_>) -> Self {
        ArrayView2::from_shape((features.rows(), features.columns()), features.values())
            .expect("features hold whole rows")
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;

    #[test]
    fn matrices_come_in_by_their_rows_however_they_lie() {
        let matrix: Array2<f32> = array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]];
        let wide = matrix.mapv(f64::from);
        assert_eq!(Features::try_from(&wide).unwrap(), Features::try_from(&matrix).unwrap());
        assert_eq!(Features::try_from(wide.t()).unwrap(), Features::try_from(matrix.t()).unwrap());
        let error = Features::try_from(&(wide * 1e300)).unwrap_err();
        assert!(matches!(error, FeatureError::NotFinite { row: 0, column: 1, .. }), "{error}");
        assert_eq!(Features::try_from(&matrix).unwrap().values().as_ptr(), matrix.as_ptr());
        let part = Features::try_from(matrix.slice(s![1.., ..])).unwrap();
        assert_eq!(part.values(), [3.0, 4.0, 5.0]);
        assert_eq!(part.values().as_ptr(), matrix.row(1).as_ptr());
        let gaps = Features::try_from(matrix.slice(s![.., ..2])).unwrap();
        assert_eq!((gaps.columns(), gaps.values()), (2, &[0.0, 1.0, 3.0, 4.0][..]));
        let turned = Features::try_from(matrix.t()).unwrap();
        assert_eq!(turned, Features::from_rows([[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]).unwrap());
        assert_eq!(ArrayView2::from(&turned), matrix.t());
    }

    #[test]
    fn bad_matrices_are_named() {
        let endless = array![[0.0, 1.0], [f32::INFINITY, 3.0]];
        let expected = FeatureError::NotFinite { row: 1, column: 0, value: f64::INFINITY };
        assert_eq!(Features::try_from(&endless), Err(expected));
        assert_eq!(Features::try_from(&Array2::<f32>::zeros((3, 0))), Err(FeatureError::NoColumns));
        assert_eq!(Features::try_from(&Array2::<f32>::zeros((0, 3))).unwrap().rows(), 0);
    }
}
