-- Prints what wrk counted as one line of JSON.
function done(summary, latency)
    local e = summary.errors
    io.write(string.format(
        '\n{"requests": %d, "microseconds": %d, "errors": %d, "p50": %d, "p99": %d}\n',
        summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
        latency:percentile(50), latency:percentile(99)))
end
