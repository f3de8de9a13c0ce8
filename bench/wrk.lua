-- With BYTES, each request sends a POST body of that length.
-- With PATH PROJECTS USER NEXT, each request adds another user to a project: PATH has %d for the project, PROJECTS are
-- ids, USER is the first of the users, NEXT is the number of pairs that were used before. See cases/write.py.
-- With "runners" PATH COUNT, each request asks for a build for the next of COUNT runners; see cases/runners.py.
function init(args)
    if #args == 0 then
        return
    end
    if args[1] == "runners" then
        local path, count, next = args[2], tonumber(args[3]), 0
        wrk.headers["Content-Type"] = "application/json"
        function request()
            next = next + 1
            return wrk.format("POST", path, nil, string.format('{"token": "bench-runner-%d"}', next % count))
        end
        return
    end
    if #args == 1 then
        wrk.method, wrk.body = "POST", string.rep("x", tonumber(args[1]))
        return
    end
    local path, user, next = args[1], tonumber(args[3]), tonumber(args[4])
    local projects = {}
    for id in args[2]:gmatch("%d+") do
        projects[#projects + 1] = tonumber(id)
    end
    wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
    function request()
        local project = projects[next % #projects + 1]
        local body = string.format("user_id=%d&access_level=30", user + math.floor(next / #projects))
        next = next + 1
        return wrk.format("POST", path:format(project), nil, body)
    end
end

-- Prints the results of wrk as one line of JSON.
function done(summary, latency)
    local e = summary.errors
    io.write(string.format(
        '\n{"requests": %d, "microseconds": %d, "errors": %d, "p50": %d, "p99": %d}\n',
        summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
        latency:percentile(50), latency:percentile(99)))
end
