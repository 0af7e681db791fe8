import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../../src/cli/command-line.ts';
import { scene } from '../../scene.ts';
import { sharedSandbox } from '../shared-sandbox.ts';

const { open: openSandbox } = sharedSandbox();

const root = new URL('../../../../', import.meta.url);

interface Found {
  code: string;
  path: string;
  sentence: string;
  fix: string;
}

interface Report {
  exitCode: number;
  faults: Found[];
  warnings: Found[];
  unjudged?: string[];
}

const list = 'sync.toHost.endpoints.patches';

async function check(
  entries: readonly object[],
  hostward: object = {},
  flags: readonly string[] = [],
): Promise<Report> {
  const text = JSON.stringify({
    sync: { toHost: { endpoints: { enabled: false, patches: entries }, endpointSlices: { enabled: false } } },
    hostward: { endpoints: { enabled: true }, ...hostward },
  });
  return checkText(text, flags);
}

async function checkText(text: string, flags: readonly string[] = []): Promise<Report> {
  const { context, out } = scene({ files: { '/home/v.yaml': text } });
  const names = ['--vcluster-name', 'vc', '--host-namespace', 'vcluster-vc'];
  const exitCode = await runCommandLine({ ...context, openSandbox }, [
    'check',
    'v.yaml',
    ...names,
    '-o',
    'json',
    ...flags,
  ]);
  return { exitCode, ...(JSON.parse(out()) as Omit<Report, 'exitCode'>) };
}

const cases = JSON.parse(readFileSync(new URL('fixtures/sync/wrong-results.json', root), 'utf8')) as {
  path: string;
  expression: string;
  code?: string;
  says?: string;
}[];

describe('check on patches that are good for no sample', () => {
  const deny = { addressPolicy: { deny: ['10.96.0.0/12'] } };

  it.each(cases)('judges $path <- $expression', async ({ code, says = '', ...entry }) => {
    const { exitCode, faults, warnings } = await check([entry], deny, ['--strict']);
    expect(faults).toEqual([]);
    const found = warnings.filter((one) => /^PATCH_(ALWAYS_FAILS|REFUSED_ADDRESS)$/.test(one.code));
    expect(found.map((one) => one.code)).toEqual(code === undefined ? [] : [code]);
    if (code !== undefined) expect(found[0]?.sentence).toContain(says);
    if (code !== undefined) expect(exitCode).toBe(1);
  });

  it('tries addresses that the allow list names', async () => {
    const allow = { addressPolicy: { allow: ['10.50.3.0/24'] } };
    const at = (expression: string) => ({ path: 'subsets[*].addresses[*].ip', expression });
    expect((await check([at('value')], allow)).warnings).toEqual([]);
    const [found] = (await check([at('value.replace(/^10/, "11")')], allow)).warnings;
    expect(found?.sentence).toContain('"10.50.3.1" becomes "11.50.3.1" (not in the allow list)');
  });
});

describe('check on several faults of one configuration', () => {
  const number = { path: 'metadata.annotations.a', expression: '42' };
  const faultOf = (index: number, member = 'expression') => `${list}[${index}].${member}`;
  const paths = ({ faults }: Report) => faults.map(({ path }) => path);

  it.each([
    ['another wrong value', { path: 'metadata.annotations.*', expression: '42' }, faultOf(1)],
    ['a misspelt field', { path: 'subsets[*].prts', expression: 'value' }, faultOf(1, 'path')],
    ['a broken path', { path: 'metadata.labels[a', expression: 'value' }, faultOf(1, 'path')],
    ['an unknown name', { path: 'metadata.labels.b', expression: 'nope' }, faultOf(1)],
    ['an unknown key', { path: 'metadata.labels.b', expression: 'value', onEror: 'skip' }, `${list}[1].onEror`],
    ['an address that is refused', { path: 'metadata.annotations.*', expression: 'value.no.way' }, undefined],
  ])('tells of a wrong value beside %s', async (_, other, path) => {
    const first = await check([number, other]);
    expect(paths(first)).toEqual([faultOf(0), ...(path === undefined ? [] : [path])]);
    // The order of the list must not matter.
    expect(paths(await check([other, number]))).toContain(faultOf(1));
  });

  it.each([
    [{ listn: 1 }, 'hostward.listn'],
    [{ listen: 'nowhere' }, 'hostward.listen'],
    [{ addressPolicy: { deny: ['x'] } }, 'hostward.addressPolicy.deny[0]'],
    [{ management: { projects: [{}] } }, 'hostward.management.projects[0]'],
    [{ virtualClusterName: 'A_B', hostNamespace: '-' }, 'hostward.hostNamespace'],
  ])('tells of a wrong value beside a fault of a setting: %j', async (hostward, path) => {
    const found = paths(await check([number], hostward));
    expect(found).toContain(faultOf(0));
    expect(found).toContain(path);
  });

  it('tells of a wrong value beside a wrong namespace mapping', async () => {
    const text = JSON.stringify({
      sync: {
        toHost: {
          endpoints: { patches: [number] },
          namespaces: { enabled: true, mappings: { byName: { 'a-*-*': 'b' } } },
        },
      },
    });
    expect(paths(await checkText(text))).toContain(faultOf(0));
  });

  it('says what it could not judge, and which fault is the reason', async () => {
    const mistaken = { path: 'a[', expression: '42' };
    expect((await check([number])).unjudged).toBeUndefined();
    expect((await check([number, mistaken])).unjudged).toEqual([
      `${list}[1] was not tried on samples, because of the faults in it`,
    ]);
    expect((await check([mistaken, mistaken], { listn: 1 })).unjudged).toEqual([
      `${list}[0], ${list}[1] were not tried on samples, because of the faults in them`,
      expect.stringMatching(/^settings were not compared with one another, because of the fault at v\.yaml:1:\d+$/),
    ]);
    expect((await checkText('hostward: {\n')).unjudged).toEqual([
      'the keys in v.yaml were not looked at, because it is not one map of settings',
      expect.stringMatching(
        /^patches were not tried on samples, and settings not compared with one another, because of the fault at v\.yaml:\d/,
      ),
    ]);
  });

  it('has nothing to compare in a configuration of the management API alone', async () => {
    const { context, out } = scene({ files: { '/home/v.yaml': 'hostward: {management: {listen: nowhere}}\n' } });
    expect(await runCommandLine(context, ['check', 'v.yaml'])).toBe(1);
    expect(out()).not.toContain('note:');
    expect(out()).toMatch(/1 fault, no warnings\n$/);
  });

  it('compares settings with one another when only patches have faults', async () => {
    const text = JSON.stringify({
      sync: { toHost: { endpoints: { enabled: true, patches: [{ path: 'a[', expression: 'value' }] } } },
    });
    const { warnings } = await checkText(text);
    expect(warnings.map(({ code }) => code)).toContain('CONFIG_TWO_WRITERS');
  });
});

const cutting = JSON.parse(readFileSync(new URL('fixtures/sync/cutting-reverses.json', root), 'utf8')) as {
  path: string;
  expression: string;
  reverseExpression: string;
  cuts: boolean;
}[];

describe('check on reverse expressions', () => {
  const cutsOf = async (entry: object) =>
    (await check([entry])).warnings.filter(({ code }) => code === 'PATCH_REVERSE_CUTS');

  it.each(cutting)(
    'tries host values that nobody made: $expression, $reverseExpression',
    async ({ cuts, ...entry }) => {
      expect(await cutsOf(entry)).toHaveLength(cuts ? 1 : 0);
    },
  );

  it.each(cutting.filter(({ cuts }) => cuts))(
    'prints an example that fails instead: $expression, $reverseExpression',
    async ({ cuts: _, ...entry }) => {
      const [found] = await cutsOf(entry);
      const mended = found?.fix.replace(/^.*keeps its own: /, '') ?? '';
      expect(mended).toContain(entry.reverseExpression);
      const { faults, warnings } = await check([{ ...entry, reverseExpression: mended }]);
      expect([...faults, ...warnings]).toEqual([]);
    },
  );

  it('gives no example for an expression of several lines, which nobody would read', async () => {
    const [found] = await cutsOf({
      path: 'metadata.labels.a',
      expression: '"a-" + value',
      reverseExpression: '(() => {\n  return value.slice(2);\n})()',
    });
    expect(found?.fix).toBe('let it throw for such a value, so that the tenant keeps its own');
  });
});
