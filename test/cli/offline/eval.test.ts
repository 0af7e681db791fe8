import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { inputLines } from '../../../src/cli/eval.ts';
import { systemClock } from '../../../src/clock.ts';
import { scene } from '../scene.ts';
import { sharedSandbox } from './shared-sandbox.ts';

const { open: openSandbox } = sharedSandbox();

const object = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'web', namespace: 'shop', resourceVersion: '5', labels: { app: 'db' } },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] }],
};
const files = {
  '/home/o.yaml': JSON.stringify(object),
  '/home/c.yaml': 'hostward: {virtualClusterName: vc, hostNamespace: vcluster-vc}\npolicies: {a: secret}\n',
};

async function evaluate(...argv: string[]) {
  const { context, out, err } = scene({ files });
  const code = await runCommandLine({ ...context, openSandbox }, ['eval', ...argv]);
  return { code, out: out(), err: err() };
}

async function answers(requests: (object | string)[], ...argv: string[]) {
  const stdin = requests.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n');
  const { context, out } = scene({ files, stdin });
  const code = await runCommandLine({ ...context, clock: systemClock }, ['eval', '--stdin', ...argv]);
  return {
    code,
    answers: out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  };
}

describe('hostward eval', () => {
  it.each<[string, string[], unknown]>([
    ['a number below zero', ['value', '--value', '-5'], { value: -5 }],
    [
      'the cluster of a configuration, and the path of the value',
      [
        'value + context.path + context.vcluster.name + context.vcluster.config.policies.a',
        ...['-c', 'c.yaml', '--path', 'metadata.labels.app', '-f', 'o.yaml'],
      ],
      { value: 'dbmetadata.labels.appvcsecret' },
    ],
    [
      'a path with several matches',
      ['value.slice(-1)', '--path', 'subsets[*].addresses[*].ip', '-f', 'o.yaml'],
      {
        matches: [
          { path: 'subsets.0.addresses.0.ip', value: '1' },
          { path: 'subsets.0.addresses.1.ip', value: '2' },
        ],
      },
    ],
    [
      'the empty path, which is the whole object without its versions',
      ['Object.keys(value.metadata).join() + context.path', '--path', '', '-f', 'o.yaml'],
      { value: 'name,namespace,labels' },
    ],
    [
      'a path of the host object',
      ['value', '--back', '--path', 'metadata.name', '--host-object', 'o.yaml'],
      { value: 'web' },
    ],
  ])('answers in JSON: %s', async (_, argv, answer) => {
    const { code, out } = await evaluate(...argv, '-o', 'json');
    expect([code, JSON.parse(out)]).toEqual([0, answer]);
  });

  it.each<[string, string[], object]>([
    ['syntax', ['value +'], { kind: 'syntax', position: { line: 1, column: 8 } }],
    ['rejected', ['value + process.env.X'], { kind: 'rejected', position: { line: 1, column: 9 } }],
    ['threw', ['value.a', '--value', 'null'], { kind: 'threw', position: { line: 1, column: 7 } }],
    [
      'a bad path',
      ['value', '--path', 'a[-1]'],
      { kind: 'syntax', message: expect.stringContaining('path: negative index') },
    ],
  ])('tells an error by its kind: %s', async (_, argv, error) => {
    const { code, out } = await evaluate(...argv, '-o', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ error });
  });

  it('prints the value, or the position of the error with a caret', async () => {
    expect(await evaluate('({a: value})', '--value', '1')).toEqual({ code: 0, out: '{\n  "a": 1\n}\n', err: '' });
    const { code, out, err } = await evaluate('value +\n  nope', '--value', '1');
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('expression:2:3: "nope" is not defined');
    expect(err).toContain('    nope\n    ^\n');
    expect((await evaluate('value.a.b', '--value', '1')).err).toMatch(
      /^expression:1:9: the expression throws: Cannot read .*\n {2}value\.a\.b\n {10}\^/,
    );
    expect((await evaluate("value in ['a']", '--value', '0')).err).toContain('warning: "in" asks for an index');
  });

  it.each([
    ['no expression', []],
    ['a value that is no JSON', ['value', '--value', 'text']],
  ])('is a fault of usage: %s', async (_, argv) => {
    expect((await evaluate(...argv)).code).toBe(2);
  });
});

describe('hostward eval --stdin', () => {
  it('answers each line with a line, in order, and goes on after hostile lines', async () => {
    const good = (value: unknown) => ({ expression: 'JSON.stringify([value])', value });
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const result = await answers([
      good('before'),
      { expression: '(() => { for (;;); })()' },
      good(1),
      { expression: '"x".repeat(1e9)' },
      { expression: 'Array.from({length: 1e9}, () => "x".repeat(9999))' },
      good(2),
      'no JSON',
      '[]',
      { path: 'a' },
      { expression: 'value.constructor.constructor("return process")()', value: 1 },
      `{"expression": "value", "value": ${deep}}`,
      '',
      { expression: 'value', path: 'a.__proto__' },
      { expression: 'globalThis.x = 1' },
      { expression: 'context.virtualObject.metadata.name', object },
      good(null),
    ]);
    expect(result.code).toBe(0);
    const kinds = result.answers.map((answer) => answer.error?.kind ?? answer.value);
    expect(kinds).toEqual([
      '["before"]',
      'timeout',
      '[1]',
      'size',
      'size',
      '[2]',
      'syntax',
      'type',
      'syntax',
      'rejected',
      'size',
      'syntax',
      'rejected',
      'web',
      '[null]',
    ]);
  });

  it('--stdin skips a byte order mark, and names a member of the wrong type', async () => {
    const wrong = [{ object: [] }, { hostObject: 'x' }, { valueExists: 'yes' }];
    const first = '\uFEFF{"expression": "value", "value": 1}';
    const { answers: found } = await answers([first, ...wrong.map((one) => ({ expression: 'value', ...one }))]);
    expect(found).toEqual([
      { value: 1 },
      { error: { kind: 'type', message: 'wanted object as a JSON object' } },
      { error: { kind: 'type', message: 'wanted hostObject as a JSON object' } },
      { error: { kind: 'type', message: 'wanted valueExists as true or false' } },
    ]);
  });

  it('distinguishes null, undefined and a missing value as the daemon does', async () => {
    const { answers: found } = await answers([
      { expression: 'undefined' },
      { expression: '[value, valueExists]' },
      { expression: '[value, valueExists]', value: null },
      { expression: '[value, valueExists]', value: 'v', valueExists: false },
      { expression: '[value, valueExists]', object, path: 'metadata.labels.app' },
      { expression: '[value, valueExists]', object, path: 'metadata.labels.x' },
      { expression: '[value.kind, valueExists]', object, path: '' },
      { expression: 'context.virtualObject.metadata.resourceVersion', object },
      { expression: '() => 1' },
    ]);
    expect(found).toEqual([
      { value: null },
      { value: [null, false] },
      { value: [null, true] },
      { value: ['v', false] },
      { value: ['db', true] },
      { value: [null, false] },
      { value: ['Endpoints', true] },
      { value: null },
      { error: { kind: 'type', message: expect.any(String) } },
    ]);
  });

  it('takes missing members of a request from the command line', async () => {
    const asked = [{}, { value: 'x' }, { path: 'metadata.name' }, { expression: 'context.vcluster.namespace' }];
    const result = await answers(asked, 'value', '-f', 'o.yaml', '--path', 'metadata.labels.app', '-c', 'c.yaml');
    expect(result.answers).toEqual([{ value: 'db' }, { value: 'x' }, { value: 'web' }, { value: 'vcluster-vc' }]);
  });

  it('answers before the next line arrives', async () => {
    const { context, out } = scene();
    const counts: number[] = [];
    const linesOut = () => out().split('\n').length - 1;
    async function* stdinChunks() {
      for (const chunk of ['{"expression":"1"}\n{"expr', 'ession":"2"}\n', '{"expression":"3"}']) {
        counts.push(linesOut());
        yield chunk;
      }
    }
    expect(await runCommandLine({ ...context, stdinChunks }, ['eval', '--stdin'])).toBe(0);
    expect(counts).toEqual([0, 1, 2]);
    expect(out()).toBe('{"value":1}\n{"value":2}\n{"value":3}\n');
  });
});

describe('inputLines()', () => {
  it('drops a line that is too long', async () => {
    async function* chunks() {
      yield 'ok\nlong';
      for (let at = 0; at < 100; at++) yield 'er and longer';
      yield '\nfine\n\n';
      yield 'too long again';
    }
    const lines = [];
    for await (const line of inputLines(chunks(), { maxLength: 12 })) lines.push(line);
    expect(lines).toEqual([
      { kind: 'line', text: 'ok' },
      { kind: 'tooLong' },
      { kind: 'line', text: 'fine' },
      { kind: 'tooLong' },
    ]);
  });
});
