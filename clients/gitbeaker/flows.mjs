// Flows of @gitbeaker/rest, the client library of npm. The environment and the output are those of ../harness.py.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Gitlab } from '@gitbeaker/rest';

const { BASE_URL: host, TOKEN: token, WORK: work, FLOWS: wanted = '' } = process.env;
const api = new Gitlab({ host, token });
const demo = 'root/demo';
const ci = 'root/gb-ci';
const flows = [];

const flow = (name, run) => flows.push([name, run]);

/** Calls the function until it returns something, for at most a minute. */
const eventually = async (get) => {
    for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
        const found = await get();
        if (found) return found;
        await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error('not within a minute');
};

/** Makes what several flows use, once. */
const once = (make) => {
    let made;
    return () => (made ??= make());
};

/** Expects that the server refuses a request with this status, and with this text in the error. */
const refused = (status, call, text = '') =>
    assert.rejects(call, (error) => {
        assert.equal(error.cause?.response?.status, status, error.message);
        assert.ok(String(error.cause.description).includes(text), error.cause.description);
        return true;
    });

/** Commits a file on a new branch of the demo project. */
const change = (branch, path) =>
    api.Commits.create(demo, branch, 'add a file', [{ action: 'create', filePath: path, content: 'first\nsecond\n' }], {
        startBranch: 'main',
    });

const project = once(() => api.Projects.create({ name: 'gb', visibility: 'private' }));
const issue = once(async () => api.Issues.create((await project()).id, 'one', { labels: 'a,b' }));
const mergeRequest = once(async () => {
    await change('gb-open', 'gb-open.txt');
    return api.MergeRequests.create(demo, 'gb-open', 'main', 'open');
});
const finishedJob = once(async () => {
    await api.Projects.create({ name: 'gb-ci', visibility: 'private' });
    const script = '["echo made of $WORD", "echo made >made.txt"]';
    const content = `make:\n  script: ${script}\n  artifacts: {paths: [made.txt]}\n`;
    await api.Commits.create(ci, 'main', 'add pipelines', [{ action: 'create', filePath: '.gitlab-ci.yml', content }]);
    return eventually(async () => (await api.Jobs.all(ci)).find((job) => job.status === 'success'));
});

flow('user', async () => {
    assert.equal((await api.Users.showCurrentUser()).username, 'root');
});

flow('metadata', async () => {
    assert.ok((await api.Metadata.show()).version);
});

flow('oauth', async () => {
    assert.equal((await new Gitlab({ host, oauthToken: token }).Users.showCurrentUser()).username, 'root');
});

flow('projects create', async () => {
    assert.equal((await project()).visibility, 'private');
});

flow('projects all', async () => {
    const { id } = await project();
    assert.ok((await api.Projects.all({ owned: true, perPage: 2 })).some((found) => found.id === id));
});

flow('projects all keyset', async () => {
    const options = { membership: true, pagination: 'keyset', orderBy: 'id', sort: 'asc', perPage: 1 };
    const ids = (await api.Projects.all(options)).map((found) => found.id);
    assert.ok(ids.length > 1);
    assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b));
});

flow('projects expanded', async () => {
    const options = { owned: true, perPage: 1, maxPages: 1, pagination: 'offset' };
    const page = await api.Projects.all({ ...options, showExpanded: true });
    assert.equal(page.paginationInfo.perPage, 1);
    assert.equal(page.paginationInfo.current, 1);
    assert.ok(page.paginationInfo.total > 1);
});

flow('projects edit', async () => {
    assert.equal((await api.Projects.edit((await project()).id, { description: 'x' })).description, 'x');
});

flow('projects show missing', () => refused(404, api.Projects.show('root/nothing'), '404 Project Not Found'));

flow('projects upload', async () => {
    const file = { content: new Blob(['x']), filename: 'a.txt' };
    const upload = await api.Projects.uploadForReference((await project()).id, file);
    assert.ok(upload.markdown && upload.full_path);
});

flow('issues', async () => {
    const { id } = await project();
    const { iid } = await issue();
    assert.equal((await api.Issues.edit(id, iid, { stateEvent: 'close' })).state, 'closed');
    assert.deepEqual((await api.Issues.show(iid, { projectId: id })).labels, ['a', 'b']);
    const found = await api.Issues.all({ projectId: id, labels: 'a,b', iids: [iid] });
    assert.deepEqual(found.map((one) => one.iid), [iid]);
});

flow('issue notes', async () => {
    const [{ id }, { iid }] = [await project(), await issue()];
    const note = await api.IssueNotes.create(id, iid, 'hi');
    assert.ok((await api.IssueNotes.all(id, iid)).some((found) => found.body === 'hi'));
    await api.IssueNotes.remove(id, iid, note.id);
});

flow('issue discussions', async () => {
    const [{ id }, { iid }] = [await project(), await issue()];
    await api.IssueNotes.create(id, iid, 'discussed');
    assert.ok((await api.IssueDiscussions.all(id, iid)).length > 0);
});

flow('issue time tracking', async () => {
    const [{ id }, { iid }] = [await project(), await issue()];
    await api.Issues.addTimeEstimate(id, iid, '2h');
    await api.Issues.addSpentTime(id, iid, '30m');
    const stats = await api.Issues.showTimeStats(id, iid);
    assert.deepEqual([stats.time_estimate, stats.total_time_spent], [7200, 1800]);
});

flow('issue award emoji', async () => {
    const [{ id }, { iid }] = [await project(), await issue()];
    const award = await api.IssueAwardEmojis.award(id, iid, 'rocket');
    assert.deepEqual((await api.IssueAwardEmojis.all(id, iid)).map((found) => found.name), ['rocket']);
    await api.IssueAwardEmojis.remove(id, iid, award.id);
});

flow('todos', async () => {
    const [{ id }, { iid }] = [await project(), await issue()];
    const todo = await api.Issues.createTodo(id, iid);
    assert.ok((await api.TodoLists.all()).some((found) => found.id === todo.id));
    await api.TodoLists.done({ todoId: todo.id });
    assert.ok(!(await api.TodoLists.all()).some((found) => found.id === todo.id));
});

flow('labels', async () => {
    const { id } = await project();
    await api.ProjectLabels.create(id, 'l1', '#ff0000');
    assert.ok((await api.ProjectLabels.all(id)).some((label) => label.name === 'l1'));
    assert.equal((await api.ProjectLabels.edit(id, 'l1', { color: '#00ff00' })).color.toLowerCase(), '#00ff00');
    await api.ProjectLabels.remove(id, 'l1');
    assert.ok(!(await api.ProjectLabels.all(id)).some((label) => label.name === 'l1'));
});

flow('milestones', async () => {
    const { id } = await project();
    const milestone = await api.ProjectMilestones.create(id, 'm1');
    assert.equal((await api.ProjectMilestones.edit(id, milestone.id, { stateEvent: 'close' })).state, 'closed');
    await api.ProjectMilestones.remove(id, milestone.id);
    assert.deepEqual(await api.ProjectMilestones.all(id), []);
});

flow('boards', async () => {
    const { id } = await project();
    const [board] = await api.ProjectIssueBoards.all(id);
    assert.ok(Array.isArray(await api.ProjectIssueBoards.allLists(id, board.id)));
});

flow('hooks', async () => {
    const { id } = await project();
    const hook = await api.ProjectHooks.add(id, 'https://example.com/x', { jobEvents: true });
    assert.equal((await api.ProjectHooks.show(id, hook.id)).job_events, true);
    await api.ProjectHooks.remove(id, hook.id);
    assert.deepEqual(await api.ProjectHooks.all(id), []);
});

flow('variables', async () => {
    const { id } = await project();
    await api.ProjectVariables.create(id, 'K', 'v');
    assert.equal((await api.ProjectVariables.edit(id, 'K', 'w')).value, 'w');
    await api.ProjectVariables.remove(id, 'K');
    assert.deepEqual(await api.ProjectVariables.all(id), []);
});

flow('members', async () => {
    const { id } = await project();
    const options = { email: 'gb@example.com', username: 'gb-user', name: 'G B', password: 'Very-secret-77' };
    const user = await api.Users.create({ ...options, skipConfirmation: true });
    await api.ProjectMembers.add(id, 30, { userId: user.id });
    assert.equal((await api.ProjectMembers.edit(id, user.id, 40)).access_level, 40);
    const all = await api.ProjectMembers.all(id, { includeInherited: true });
    assert.ok(all.some((member) => member.username === 'gb-user'));
    await api.ProjectMembers.remove(id, user.id);
    assert.ok(!(await api.ProjectMembers.all(id)).some((member) => member.username === 'gb-user'));
});

flow('groups', async () => {
    const group = await api.Groups.create('gb-group', 'gb-group', { visibility: 'private' });
    assert.ok((await api.Groups.all()).some((found) => found.id === group.id));
    assert.deepEqual(await api.Groups.allProjects(group.id), []);
    await api.Groups.remove(group.id);
});

flow('deploy keys', async () => {
    const { id } = await project();
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', `${work}/key`]);
    const key = await api.DeployKeys.create(id, 'deploy', readFileSync(`${work}/key.pub`, 'ascii').trim());
    assert.deepEqual((await api.DeployKeys.all({ projectId: id })).map((found) => found.title), ['deploy']);
    await api.DeployKeys.remove(id, key.id);
    assert.deepEqual(await api.DeployKeys.all({ projectId: id }), []);
});

flow('branches', async () => {
    await api.Branches.create(demo, 'gb/branch', 'main');
    assert.ok((await api.Branches.all(demo)).some((branch) => branch.name === 'gb/branch'));
    await api.Branches.remove(demo, 'gb/branch');
    await refused(404, api.Branches.show(demo, 'gb/branch'));
});

flow('protected branches', async () => {
    await api.Branches.create(demo, 'gb-protected', 'main');
    await api.ProtectedBranches.protect(demo, 'gb-protected', { pushAccessLevel: 30 });
    assert.equal((await api.ProtectedBranches.show(demo, 'gb-protected')).push_access_levels[0].access_level, 30);
    await api.ProtectedBranches.unprotect(demo, 'gb-protected');
});

flow('tree', async () => {
    const paths = (await api.Repositories.allRepositoryTrees(demo, { recursive: true })).map((entry) => entry.path);
    assert.ok(paths.includes('src/index.js'));
});

flow('file', async () => {
    const file = await api.RepositoryFiles.show(demo, 'package.json', 'main');
    assert.ok(Buffer.from(file.content, 'base64').includes('dependencies'));
});

flow('file raw', async () => {
    const raw = await api.RepositoryFiles.showRaw(demo, 'package.json', 'main');
    assert.ok((typeof raw === 'string' ? raw : await raw.text()).includes('dependencies'));
});

flow('files create/edit/remove', async () => {
    await api.RepositoryFiles.create(demo, 'gb/file.txt', 'gb-files', 'one\n', 'add', { startBranch: 'main' });
    await api.RepositoryFiles.edit(demo, 'gb/file.txt', 'gb-files', 'dHdvCg==', 'change', { encoding: 'base64' });
    const file = await api.RepositoryFiles.show(demo, 'gb/file.txt', 'gb-files');
    assert.equal(Buffer.from(file.content, 'base64').toString(), 'two\n');
    await api.RepositoryFiles.remove(demo, 'gb/file.txt', 'gb-files', 'remove');
    await refused(404, api.RepositoryFiles.show(demo, 'gb/file.txt', 'gb-files'));
});

flow('commits', async () => {
    const commits = await api.Commits.all(demo, { refName: 'main' });
    assert.ok(commits.some((commit) => commit.title === 'add the package'));
    assert.equal((await api.Commits.show(demo, commits[0].id)).id, commits[0].id);
    assert.deepEqual((await api.Commits.showDiff(demo, 'feature')).map((diff) => diff.new_path), ['feature.txt']);
});

flow('commit statuses', async () => {
    const { id } = await api.Commits.show(demo, 'main');
    await api.Commits.editStatus(demo, id, 'success', { name: 'gb' });
    assert.ok((await api.Commits.allStatuses(demo, id)).some((status) => status.name === 'gb'));
});

flow('compare', async () => {
    const compared = await api.Repositories.compare(demo, 'main', 'feature');
    assert.deepEqual(compared.commits.map((commit) => commit.title), ['add a feature']);
});

flow('tags', async () => {
    await api.Tags.create(demo, 'gb-1', 'main');
    assert.ok((await api.Tags.all(demo)).some((tag) => tag.name === 'gb-1'));
});

flow('releases', async () => {
    const links = [{ name: 'first', url: 'https://example.com/1' }];
    await api.ProjectReleases.create(demo, { tagName: 'gb-2', ref: 'main', description: 'd', assets: { links } });
    assert.ok((await api.ProjectReleases.all(demo)).some((release) => release.tag_name === 'gb-2'));
    const link = await api.ReleaseLinks.create(demo, 'gb-2', 'second', 'https://example.com/2');
    assert.deepEqual((await api.ReleaseLinks.all(demo, 'gb-2')).map((found) => found.name).sort(), ['first', 'second']);
    await api.ReleaseLinks.remove(demo, 'gb-2', link.id);
    await api.ProjectReleases.remove(demo, 'gb-2');
    await refused(404, api.ProjectReleases.show(demo, 'gb-2'));
});

flow('merge requests', async () => {
    const { iid } = await mergeRequest();
    assert.equal((await api.MergeRequests.edit(demo, iid, { title: 'renamed' })).title, 'renamed');
    const found = await api.MergeRequests.all({ projectId: demo, state: 'opened', sourceBranch: 'gb-open' });
    assert.deepEqual(found.map((one) => one.iid), [iid]);
    assert.deepEqual((await api.MergeRequests.allDiffs(demo, iid)).map((diff) => diff.new_path), ['gb-open.txt']);
    assert.deepEqual((await api.MergeRequests.allCommits(demo, iid)).map((commit) => commit.title), ['add a file']);
});

flow('merge request notes', async () => {
    const { iid } = await mergeRequest();
    const note = await api.MergeRequestNotes.create(demo, iid, 'x');
    assert.equal((await api.MergeRequestNotes.edit(demo, iid, note.id, { body: 'y' })).body, 'y');
    await api.MergeRequestNotes.remove(demo, iid, note.id);
});

flow('merge request discussions', async () => {
    const { iid } = await mergeRequest();
    const refs = (await api.MergeRequests.show(demo, iid)).diff_refs;
    const position = {
        baseSha: refs.base_sha, headSha: refs.head_sha, startSha: refs.start_sha,
        positionType: 'text', newPath: 'gb-open.txt', oldPath: 'gb-open.txt', newLine: '1',
    };
    const { id } = await api.MergeRequestDiscussions.create(demo, iid, 'why?', { position });
    await api.MergeRequestDiscussions.addNote(demo, iid, id, 'because');
    await api.MergeRequestDiscussions.resolve(demo, iid, id, true);
    const { notes } = await api.MergeRequestDiscussions.show(demo, iid, id);
    assert.deepEqual(notes.map((note) => [note.body, note.resolved]), [['why?', true], ['because', true]]);
    assert.equal(notes[0].position.new_line, 1);
});

flow('merge request accept', async () => {
    await change('gb-accepted', 'gb-accepted.txt');
    const { iid } = await api.MergeRequests.create(demo, 'gb-accepted', 'main', 'accept');
    await eventually(async () => (await api.MergeRequests.show(demo, iid)).detailed_merge_status === 'mergeable');
    assert.equal((await api.MergeRequests.merge(demo, iid, { shouldRemoveSourceBranch: true })).state, 'merged');
});

flow('merge request close', async () => {
    const { iid } = await mergeRequest();
    assert.equal((await api.MergeRequests.edit(demo, iid, { stateEvent: 'close' })).state, 'closed');
});

flow('jobs', async () => {
    const job = await finishedJob();
    assert.match(await api.Jobs.showLog(ci, job.id), /made of/);
});

flow('job artifacts', async () => {
    const job = await finishedJob();
    const archive = await api.JobArtifacts.downloadArchive(ci, { jobId: job.id });
    assert.equal(Buffer.from(await archive.arrayBuffer()).subarray(0, 2).toString(), 'PK');
});

flow('pipelines', async () => {
    const job = await finishedJob();
    const [pipeline] = await api.Pipelines.all(ci);
    assert.equal((await api.Pipelines.show(ci, pipeline.id)).status, 'success');
    assert.ok((await api.Jobs.all(ci, { pipelineId: pipeline.id })).some((found) => found.id === job.id));
});

flow('pipelines create', async () => {
    await finishedJob();
    const pipeline = await api.Pipelines.create(ci, 'main', { variables: [{ key: 'WORD', value: 'clay' }] });
    await eventually(async () => (await api.Pipelines.show(ci, pipeline.id)).status === 'success');
    const [job] = await api.Jobs.all(ci, { pipelineId: pipeline.id });
    assert.match(await api.Jobs.showLog(ci, job.id), /made of clay/);
});

flow('triggers', async () => {
    await finishedJob();
    const trigger = await api.PipelineTriggerTokens.create(ci, 'from outside');
    const variables = { WORD: 'glass' };
    const pipeline = await api.PipelineTriggerTokens.trigger(ci, 'main', trigger.token, { variables });
    await eventually(async () => (await api.Pipelines.show(ci, pipeline.id)).status === 'success');
    await api.PipelineTriggerTokens.remove(ci, trigger.id);
});

flow('runners', async () => {
    assert.ok((await api.Runners.all()).some((runner) => runner.description === 'clients'));
});

flow('search', async () => {
    assert.ok((await api.Search.all('projects', 'demo')).some((found) => found.path_with_namespace === demo));
});

flow('projects remove', async () => {
    const { id } = await project();
    await api.Projects.remove(id);
    await eventually(() => api.Projects.show(id).then(() => false, () => true));
});

let failed = 0;
for (const [name, run] of flows.filter(([name]) => name.includes(wanted))) {
    try {
        await run();
        console.log(`passed  ${name}`);
    } catch (error) {
        failed += 1;
        const text = [error.message, error.cause?.description].filter(Boolean).join(': ').replace(/\s+/g, ' ');
        const line = error.stack?.match(/flows\.mjs:(\d+)/)?.[1];
        console.log(`FAILED  ${name}: ${text.slice(0, 600)}${line ? ` (line ${line})` : ''}`);
    }
}
process.exitCode = failed ? 1 : 0;
