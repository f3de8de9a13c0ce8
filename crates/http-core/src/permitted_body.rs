//! Response bodies that hold a permit until they have been sent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body as HttpBody;
use bytes::Bytes;
use holdfast_app::large_response::ResponsePermit;
use hyper::body::{Body, Frame, SizeHint};

/// The body of a large response, with the permit for its memory. Chunks that have been read from the body but not sent
/// yet hold the permit, too.
pub struct PermittedBody {
    inner: HttpBody,
    permit: ResponsePermit,
}

impl PermittedBody {
    pub fn new(inner: HttpBody, permit: ResponsePermit) -> Self {
        Self { inner, permit }
    }
}

impl Body for PermittedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(|data| self.permit.attach_to(data)))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
