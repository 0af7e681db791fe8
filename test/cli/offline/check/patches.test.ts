import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../../src/cli/command-line.ts';
import { demoConfiguration } from '../../../../src/cli/demo/demo-patches.ts';
import { scene } from '../../scene.ts';
import { sharedSandbox } from '../shared-sandbox.ts';
import { check, named } from './stage.ts';

const { open: openSandbox } = sharedSandbox();

/** Follows the list of patches; without it every file gets the warning that vCluster writes too. */
const oneWriter =
  '      enabled: false\n    endpointSlices: {enabled: false}\nhostward: {endpoints: {enabled: true}}\n';

/** Each reading of the clock is an hour later. */
let hour = 0;

const hours = () => hour++ * 3_600_000;

interface InvalidResultCase {
  path: string;
  expression: string;
  severity?: 'fault' | 'warning';
  says?: string;
}

const invalidResults = JSON.parse(
  readFileSync(new URL('../../../../fixtures/sync/invalid-results.json', import.meta.url), 'utf8'),
) as InvalidResultCase[];

describe('hostward check on patches', () => {
  const patches = (...entries: string[]) =>
    `sync:\n  toHost:\n    endpoints:\n      patches:\n${entries.map((text) => text.replace(/^/gm, '        ')).join('\n')}\n${oneWriter}`;
  const checkText = (text: string, ...more: string[]) =>
    check({ files: { '/home/v.yaml': text }, openSandbox }, '-c', 'v.yaml', ...named, ...more);

  it('puts the caret under the fault inside a block of text', async () => {
    const text = patches('- path: metadata.labels.a\n  expression: |\n    value +\n      nope', '- path: a[');
    const { code, out } = await checkText(text);
    expect(code).toBe(1);
    expect(out).toContain('v.yaml:8:15: sync.toHost.endpoints.patches[0].expression: "nope" is not defined');
    expect(out).toContain('                nope\n                ^\n');
  });

  it('reports faults in the form of an entry and inside its texts in one run', async () => {
    const text = patches(
      '- path: metadata.labels[a\n  expression: value +\n  onEror: skip',
      '- path: metadata.labels.b\n  expression: nope()\n  labels: {}',
      '- reverseExpression: "value."',
    );
    const { code, out } = await checkText(text);
    expect(code).toBe(1);
    const found = out.split('\n').filter((line) => line.startsWith('v.yaml:'));
    expect(found.map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
      'v.yaml:5:32: sync.toHost.endpoints.patches[0].path',
      'v.yaml:6:30: sync.toHost.endpoints.patches[0].expression',
      'v.yaml:7:11: sync.toHost.endpoints.patches[0].onEror',
      'v.yaml:8:11: sync.toHost.endpoints.patches[1]',
      'v.yaml:9:23: sync.toHost.endpoints.patches[1].expression',
      'v.yaml:11:11: sync.toHost.endpoints.patches[2]',
      'v.yaml:11:37: sync.toHost.endpoints.patches[2].reverseExpression',
    ]);
  });

  it('reports a duplicate path once', async () => {
    const twice = '- path: metadata.labels.a\n  expression: value';
    const { out } = await checkText(patches(twice, twice));
    expect(out).toContain('sync.toHost.endpoints.patches[0] already patches "metadata.labels.a"');
    expect(out).toContain('1 fault, no warnings');
  });

  it.each([
    [
      'a function as the result',
      'metadata.labels.a',
      'value => value + "-x"',
      '[0].expression: this expression returns a function; call it: (value => value + "-x")(value)',
    ],
    ['a name of a function', 'metadata.labels.a', 'btoa', 'returns a function; call it: btoa(value)'],
    ['JSONPath', '$.metadata.labels.a', 'value', 'paths start at the object; write "metadata.labels.a"'],
    ['JSONPath with brackets', "$['metadata'].labels.a", 'value', `write "['metadata'].labels.a"`],
    ['JSONPath below every level', '$..ip', 'value', 'name every level, or "*" for all'],
  ])('refuses %s, and says what to write', async (_, path, expression, sentence) => {
    const text = patches(`- path: ${JSON.stringify(path)}\n  expression: ${JSON.stringify(expression)}`);
    const { code, out } = await checkText(text);
    expect(code).toBe(1);
    expect(out).toContain(sentence);
    expect(out).toContain('1 fault, no warnings');
  });

  it('refuses patches one level too high', async () => {
    const text = 'sync:\n  toHost:\n    patches:\n      - {path: metadata.labels.a, expression: value}\n';
    const { code, out } = await checkText(text);
    expect(code).toBe(1);
    expect(out).toContain(
      'v.yaml:3:5: sync.toHost.patches: "patches" is directly under toHost, where Hostward does not read it; move it below sync, toHost and endpoints',
    );
  });

  it('takes files without an option too', async () => {
    const { code, out } = await check({ files: { '/home/v.yaml': patches('- path: a[') } }, 'v.yaml', ...named);
    expect(code).toBe(1);
    expect(out).toContain('v.yaml:5:18: ');
  });

  it('stops trying expressions after 20 seconds, and says so', async () => {
    const { context, clock, out } = scene({
      files: { '/home/v.yaml': patches('- path: metadata.labels.a\n  expression: value') },
    });
    const slow = {
      ...context,
      clock: { ...clock, now: hours, wallTime: () => clock.wallTime(), after: clock.after.bind(clock) },
    };
    await runCommandLine(slow, ['check', 'v.yaml', ...named]);
    expect(out()).toContain('some expressions were not tried, because trying them took more than 20 seconds');
  });

  it('tries pairs in the sandbox and reports the first value that comes back changed', async () => {
    const pair = '- path: metadata.annotations.k\n  expression: \'"my-prefix-" + value\'';
    const { code, out } = await checkText(patches(`${pair}\n  reverseExpression: value.slice("my-prefix".length)`));
    expect(code).toBe(0);
    expect(out).toContain('v.yaml:7:30: warning: sync.toHost.endpoints.patches[0].reverseExpression');
    expect(out).toContain(
      'the reverse expression does not undo the expression: "web" is "my-prefix-web" on the host and comes back as "-web"',
    );
    const cutting = await checkText(patches(`${pair}\n  reverseExpression: value.slice("my-prefix-".length)`));
    expect(cutting.out).toContain(
      'the reverse expression empties a value that the expression cannot have made: when somebody writes "web" on the host, the tenant gets ""',
    );
    const good = await checkText(patches(`${pair}\n  reverseExpression: value.match(/^my-prefix-(.*)$/s)[1]`));
    expect(good.out).toBe('no faults, no warnings\n');
  });

  it.each([
    ['metadata.labels', 'value', 'labels'],
    ['metadata.annotations', 'value', 'annotations'],
    ['""', 'value.metadata.labels', 'labels'],
  ])('warns of a pair on %s that renames keys', async (path, place, map) => {
    const renamed = (entries: string) => `Object.fromEntries(Object.entries(${place}).map(([k, v]) => ${entries}))`;
    const pairOf = (there: string, back: string) => {
      const [expression, reverse] = [there, back].map((one) =>
        place === 'value' ? renamed(one) : `(${place} = ${renamed(one)}, value)`,
      );
      return patches(`- path: ${path}\n  expression: '${expression}'\n  reverseExpression: '${reverse}'`);
    };
    const { out } = await checkText(pairOf('["h-" + k, v]', '[k.replace(/^h-/, ""), v]'));
    expect(out).toContain(
      `the expression calls "app" of metadata.${map} "h-app" on the host, and a host edit of a key with another name never comes back`,
    );
    const same = await checkText(pairOf('[k, "h-" + v]', '[k, v.match(/^h-(.*)$/s)[1]]'));
    expect(same.out).not.toContain('another name');
  });

  it.each(invalidResults)('runs each patch through the validator of the daemon: $path <- $expression', async (row) => {
    const { severity, says = '', ...entry } = row;
    const { code, out } = await checkText(patches(`- ${JSON.stringify(entry)}`), '-o', 'json');
    const { faults, warnings } = JSON.parse(out) as Record<'faults' | 'warnings', { code: string; sentence: string }[]>;
    const found = [...faults, ...warnings].filter(({ code }) => code === 'PATCH_INVALID_RESULT');
    expect(found.map((one) => (faults.includes(one) ? 'fault' : 'warning'))).toEqual(severity ? [severity] : []);
    if (severity !== undefined) expect(found[0]?.sentence).toContain(says);
    expect(code).toBe(severity === 'fault' ? 1 : 0);
  });

  it('warns only of a result that another entry may make good', async () => {
    const both = patches(
      '- path: subsets[*].ports[*].port\n  expression: String(value)',
      '- path: subsets[*].ports[*]["port"]\n  expression: Number(value)',
    );
    expect((await checkText(both)).code).toBe(0);
  });

  it.each([
    ['subsets[*].adresses[*].ip', 'expression: value', '"adresses" below subsets.*; did you mean addresses?', 28],
    ['subsets[*].addresses[*].nodename', 'expression: value', 'did you mean nodeName?', 41],
    ['subsets[*].addresses[*].targetRef.nam', 'expression: value', 'did you mean name?', 51],
    [
      'subsets[*].addresses[*].targetRef',
      'reference: {apiVersion: v1, kind: Pod, namePath: nme}',
      'did you mean name?',
      60,
    ],
  ])('refuses a path with a misspelt field: %s, %s', async (path, mode, says, column) => {
    const { code, out } = await checkText(patches(`- path: ${path}\n  ${mode}`));
    expect(code).toBe(1);
    expect(out).toContain(says);
    expect(Number(/^v\.yaml:\d+:(\d+)/.exec(out)?.[1])).toBe(column);
  });

  it('finds no reverse expression in the samples, the README, the cookbook and the demo that cuts', async () => {
    const root = new URL('../../../..', import.meta.url);
    const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
    const fromReadme = [...read('README.md').matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);
    const samples = ['config/vcluster.yaml', 'config/patches.yaml'].map(read);
    const folders = readdirSync(new URL('fixtures/patches', root), { withFileTypes: true });
    const cookbook = folders
      .filter((one) => one.isDirectory())
      .map(({ name }) => read(`fixtures/patches/${name}/config.yaml`));
    const reversed = [...fromReadme, ...samples, ...cookbook, demoConfiguration].filter((text) =>
      text.includes('reverseExpression:'),
    );
    expect(reversed.length).toBeGreaterThan(6);
    for (const text of reversed) {
      const { out } = await checkText(text, '--no-files', '-o', 'json');
      const { faults, warnings } = JSON.parse(out) as Record<'faults' | 'warnings', { code: string }[]>;
      expect(faults).toEqual([]);
      expect(warnings.filter(({ code }) => code === 'PATCH_REVERSE_CUTS')).toEqual([]);
    }
    for (const text of samples) expect((await checkText(text, '--no-files', '--strict')).out).toMatch(/no warnings\n$/);
  }, 30_000);

  it('tries single expressions too, and reports an expression without a result on any sample (at length)', async () => {
    const at = (path: string, ...members: string[]) =>
      `- path: ${path}\n${members.map((one) => `  ${one}\n`).join('')}`;
    const { code, out } = await checkText(
      patches(
        at('metadata.annotations.a', 'expression: "(() => { for (;;) {} })()"', 'reverseExpression: value'),
        at(
          'metadata.annotations.b',
          'reverseExpression: "[...value].concat(\'x\').map((a) => a.repeat(1000000)).join()"',
        ),
        at('metadata.annotations.c', "expression: \"(() => { while (value !== '') {} return 'x' })()\""),
        at('metadata.annotations.d', 'expression: value.nothing.there'),
      ),
    );
    expect(code).toBe(0);
    const warnings = [...out.matchAll(/warning: (\S+): the expression (.*), "web" am/g)];
    expect(warnings.map(([, path, found]) => [path, found])).toEqual([
      ['sync.toHost.endpoints.patches[0].expression', 'runs out of its time on every sample'],
      ['sync.toHost.endpoints.patches[1].reverseExpression', 'returns a result that is too large on every sample'],
    ]);
    expect(out).toContain('the expression fails on every sample that it was tried on; for "web": Cannot read');
    expect(out).toContain('no faults, 3 warnings');
  }, 60_000);

  it('warns in the order of the file, and as JSON', async () => {
    const text = patches(
      '- path: metadata.labels.release\n  expression: value',
      "- path: metadata.labels.a\n  expression: value in ['x']",
    );
    const { out } = await checkText(text, '-o', 'json');
    expect(JSON.parse(out).warnings).toMatchObject([
      { code: 'PATCH_REWRITTEN_KEY', line: 5, column: 17, file: 'v.yaml' },
      { code: 'PATCH_IN_ARRAY', line: 8, column: 23, fix: "write ['x'].includes(value)" },
    ]);
  });

  it('--compat lists what vCluster does differently', async () => {
    const text = patches(
      '- path: metadata.annotations["example.com/k"]\n  expression: "null"',
      "- path: metadata.annotations['x']\n  expression: context.path\n  reverseExpression: value",
      '- path: metadata.labels.b\n  reverseExpression: value\n  onError: skip',
      '- path: metadata.labels["ü"]\n  onMissing: create\n  expression: "\'v\'"',
      '- path: metadata.annotations.*\n  reference: {apiVersion: v1, kind: Secret}',
    );
    const { out } = await checkText(text, '--compat', '-o', 'json');
    const rules = JSON.parse(out).compat.map((note: { path: string; rule: string }) => [
      /\[(\d)\]/.exec(note.path)?.[1],
      note.rule,
    ]);
    expect(rules).toEqual([
      ['0', 'missing-key'],
      ['0', 'forward-only'],
      ['0', 'delete-dotted'],
      ['1', 'missing-key'],
      ['1', 'single-quotes'],
      ['1', 'context-path'],
      ['2', 'back-only'],
      ['2', 'own-key'],
      ['3', 'unicode-key'],
      ['3', 'forward-only'],
      ['3', 'own-key'],
      ['4', 'dot-star'],
      ['4', 'reference'],
      ['4', 'reference-name'],
    ]);
    const shown = await checkText(text, '--compat');
    expect(shown.out).toContain(
      'v.yaml:5:17: differs: sync.toHost.endpoints.patches[0].path: Hostward does not run when the key is missing, unless onMissing is create',
    );
    expect(shown.out).toContain('          - path: metadata.annotations["example.com/k"]\n                  ^\n');
    expect(shown.out).toMatch(/14 differences\n$/);
  });
});
