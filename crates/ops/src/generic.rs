//! When a driver makes no pipeline of a kernel that uses more than every device has (matrix units), a kernel for any device takes
//! its place. Knows no operator.

use std::sync::Once;

use tfvk_device::{Code, Error, Result, log};

/// After a launch failed because of `why`: whether to go on with a kernel for any device, which is said once a process.
///
/// Errors: `why`, where that is no fault of the kernel (memory, a lost device).
pub fn instead_of(kernel: &str, why: Error) -> Result<()> {
    static SAID: Once = Once::new();
    match why.code {
        Code::Internal | Code::Unimplemented => {
            SAID.call_once(|| log!(Warn, "{kernel}: {why}; a slower kernel for any device is used instead"));
            Ok(())
        }
        _ => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_own_faults_are_passed_over() {
        assert!(instead_of("k", Error::internal("the driver refuses")).is_ok());
        assert!(instead_of("k", Error::unimplemented("it needs what is not there")).is_ok());
        assert!(instead_of("k", Error::resource_exhausted("no memory")).is_err());
    }
}
