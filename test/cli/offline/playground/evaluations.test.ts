import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../../src/cli/command-line.ts';
import { Evaluations } from '../../../../src/cli/offline/playground/evaluations.ts';
import { type Clock, systemClock } from '../../../../src/clock.ts';
import { type Evaluated, playgroundLimits, type RenderAnswer } from '../../../../src/pages/playground-api.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { scene } from '../../scene.ts';

/** A tenth of every limit, for what takes all of it. */
const shortClock: Clock = { ...systemClock, after: (delayMs, run) => systemClock.after(delayMs / 10, run) };

const opened: Evaluations[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.stop();
});

function open(clock: Clock = systemClock): Evaluations {
  const evaluations = new Evaluations({ clock, nodePath: process.execPath });
  opened.push(evaluations);
  return evaluations;
}

const virtual = '{apiVersion: v1, kind: Endpoints, metadata: {name: a, namespace: n, labels: {app: x}}}';
const render = (expression: string) =>
  JSON.stringify({ config: `[{path: metadata.labels.app, expression: '${expression}'}]\n`, virtual });

/** For tests that leave the thread as it was. */
let shared: Evaluations | undefined;
afterAll(() => shared?.stop());

function openShared(): Evaluations {
  shared ??= new Evaluations({ clock: systemClock, nodePath: process.execPath });
  return shared;
}

/** A task may have ended. */
function niceOf(pid: number, tasks: readonly number[]): number[] {
  return tasks.flatMap((task) => {
    try {
      const [, fields = ''] = readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8').split(') ');
      return Number(fields.split(' ')[16]);
    } catch {
      return [];
    }
  });
}

function answerIn(evaluated: Evaluated): unknown {
  expect(evaluated).toMatchObject({ kind: 'answer' });
  return JSON.parse((evaluated as { json: string }).json);
}

describe('Evaluations', () => {
  it('renders in a thread, which ends after a minute without work and starts again', async () => {
    const clock = new VirtualClock();
    const evaluations = open(clock);
    const body = render('"t-" + value').replace('[{', '- {').replace('}]', '}');
    const first = answerIn(await evaluations.evaluate('render', body)) as RenderAnswer;
    expect(first.forward?.output).toContain('app: t-x');
    expect(evaluations.isRunning).toBe(true);
    await clock.advance(playgroundLimits.idleMs);
    expect(evaluations.isRunning).toBe(false);
    answerIn(await evaluations.evaluate('render', body));
    expect(evaluations.isRunning).toBe(true);
  });

  it.runIf(process.platform === 'linux')(
    'lets the work of a daemon go first, with its thread and its sandbox',
    async () => {
      const before = niceOf(process.pid, readdirSync('/proc/self/task').map(Number));
      const evaluations = new Evaluations({ clock: systemClock, nodePath: process.execPath, isSecond: true });
      opened.push(evaluations);
      answerIn(await evaluations.evaluate('eval', JSON.stringify({ expression: 'value + 1', value: 1 })));
      const tasks = readdirSync('/proc/self/task').map(Number);
      expect(niceOf(process.pid, [process.pid])).toEqual([0]);
      expect(niceOf(process.pid, tasks).filter((nice) => nice > 0).length).toBeGreaterThan(
        before.filter((nice) => nice > 0).length,
      );
      const children = tasks.flatMap((task) =>
        readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
      );
      expect(children.flatMap((child) => niceOf(child, [child]))).toContain(10);
    },
  );

  it('answers an expression with the bytes of hostward eval', async () => {
    const evaluations = openShared();
    for (const request of [
      { expression: 'value + 1', value: 1 },
      { expression: 'value.no.way', value: 1 },
      { expression: 'value +' },
      {
        expression: '[value, context.path]',
        path: 'metadata.labels.*',
        object: { metadata: { labels: { a: 'b', c: 'd' } } },
      },
      { expression: 7 },
    ]) {
      const on = scene({ stdin: `${JSON.stringify(request)}\n` });
      await runCommandLine(on.context, ['eval', '--stdin']);
      const evaluated = await evaluations.evaluate('eval', JSON.stringify(request));
      expect(evaluated).toEqual({ kind: 'answer', json: on.out().trimEnd() });
    }
  });

  it('answers expressions that hang as faults, with the bytes of hostward eval, and all others as faults too (at length)', async () => {
    const evaluations = openShared();
    const hang = '(() => { while (true); })()';
    for (const request of [
      { expression: hang, value: 1 },
      {
        expression: `value === "b" ? "first" : ${hang}`,
        path: 'metadata.labels.*',
        object: { metadata: { labels: { a: 'b', c: 'd' } } },
      },
    ]) {
      const on = scene({ stdin: `${JSON.stringify(request)}\n` });
      await runCommandLine(on.context, ['eval', '--stdin']);
      const evaluated = await evaluations.evaluate('eval', JSON.stringify(request));
      expect(evaluated).toEqual({ kind: 'answer', json: on.out().trimEnd() });
    }
    for (const expression of ['"x".repeat(1e9)', '(() => { const f = () => f(); return f() })()'])
      expect(answerIn(await evaluations.evaluate('eval', JSON.stringify({ expression, value: 1 })))).toHaveProperty(
        'error',
      );
  });

  it('answers a long line of expressions that hang within its time, and a case of them as one that fails (at length)', async () => {
    const evaluations = openShared();
    const labels = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, 'v']));
    const expression = '(() => { while (true); })()';
    const asked = { expression, path: 'metadata.labels.*', object: { metadata: { labels } } };
    const { matches } = answerIn(await evaluations.evaluate('eval', JSON.stringify(asked))) as { matches: object[] };
    expect(matches).toHaveLength(20);
    for (const one of matches) expect(one).toMatchObject({ error: { kind: 'timeout' } });
    const files = {
      'config.yaml': render(expression).replace(/.*"config":"(.*?)\\n".*/, '$1'),
      'virtual.yaml': virtual,
    };
    const { problems } = answerIn(await evaluations.evaluate('test', JSON.stringify({ files }))) as {
      problems: { text: string }[];
    };
    expect(problems.length).toBeGreaterThan(0);
  });

  it('writes the expected files of a case as hostward test --update does, and the case then passes there', async () => {
    const evaluations = openShared();
    const config = 'sync: {toHost: {endpoints: {patches: [{path: metadata.labels.app, expression: value.no.way}]}}}';
    const files = { 'config.yaml': config, 'virtual.yaml': virtual };
    const body = JSON.stringify({ files, update: true });
    const answer = answerIn(await evaluations.evaluate('test', body)) as { files: Record<string, string> };
    expect(answer).toMatchObject({ problems: [], updated: ['says.txt'] });
    expect(answer.files['says.txt']).toContain('patch 0 failed');
    const inHome = Object.entries(answer.files).map(([name, text]) => [`/home/case/${name}`, text]);
    const on = scene({ files: Object.fromEntries(inHome) });
    expect(await runCommandLine(on.context, ['test', 'case'])).toBe(0);
  });

  it('says what is wrong with a request', async () => {
    const evaluations = openShared();
    const wrong = async (kind: 'render' | 'test' | 'eval', body: string) => await evaluations.evaluate(kind, body);
    expect(await wrong('render', '{')).toEqual({ kind: 'wrong', message: 'the body is not JSON' });
    expect(await wrong('eval', '{}')).toEqual({ kind: 'wrong', message: 'wanted "expression" as a text, found none' });
    expect(await wrong('render', '[]')).toEqual({ kind: 'wrong', message: 'wanted a JSON object as the body' });
    expect(await wrong('render', '{"config": 1}')).toEqual({ kind: 'wrong', message: 'wanted "config" as a text' });
    expect(await wrong('test', '{"files": {"a": 1}}')).toMatchObject({ kind: 'wrong' });
  });

  it('lets a few wait, and refuses more', async () => {
    const evaluations = openShared();
    const asked = Array.from({ length: playgroundLimits.waiting + 4 }, () => evaluations.evaluate('render', '{}'));
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'busy').length).toBeGreaterThan(0);
    expect(kinds.filter((kind) => kind === 'wrong').length).toBeGreaterThan(playgroundLimits.waiting);
  });

  it('ends a thread that gives no answer, or throws, and gives the next evaluation a new one', async () => {
    const thread = new URL('./silent-thread.ts', import.meta.url);
    const evaluations = new Evaluations({ clock: shortClock, nodePath: process.execPath, thread });
    opened.push(evaluations);
    const first = evaluations.evaluate('render', 'turn');
    const second = evaluations.evaluate('render', 'throw');
    expect(await first).toEqual({ kind: 'failed', message: 'the evaluation came to no end and was stopped' });
    expect(await second).toEqual({ kind: 'failed', message: 'the evaluation failed: thrown' });
    expect(evaluations.isRunning).toBe(false);
  });

  it('answers what waits when it is stopped', async () => {
    const evaluations = open();
    const asked = [evaluations.evaluate('render', render('value')), evaluations.evaluate('render', '{}')];
    await evaluations.stop();
    for (const one of await Promise.all(asked)) expect(one).toMatchObject({ kind: 'failed' });
    expect(evaluations.isRunning).toBe(false);
  });
});
