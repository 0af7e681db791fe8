import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { readConfigurationFile } from '../../../src/config/load/read-files.ts';
import { scene } from '../scene.ts';

const samples = fileURLToPath(new URL('../../../fixtures/patches', import.meta.url));

describe('the samples in fixtures/patches', () => {
  it('do what they say', async () => {
    const { context, out } = scene();
    const files = {
      ...context.files,
      read: (path: string) => readFile(path, 'utf8'),
      readConfiguration: readConfigurationFile,
      list: async (path: string) => {
        const entries = await readdir(path, { withFileTypes: true });
        return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
      },
    };
    const code = await runCommandLine({ ...context, files }, ['test', samples]);
    expect(out()).not.toContain('FAIL');
    expect(code).toBe(0);
  });

  it('are in their README, each with a reason', () => {
    const folders = readdirSync(samples).filter((name) => existsSync(`${samples}/${name}/config.yaml`));
    const readme = readFileSync(`${samples}/README.md`, 'utf8');
    expect([...readme.matchAll(/\]\(([^)]+)\/config\.yaml\)/g)].map(([, name]) => name).sort()).toEqual(folders.sort());
    for (const name of folders) expect(readFileSync(`${samples}/${name}/config.yaml`, 'utf8')).toMatch(/^# /);
  });
});

const config = `sync: {toHost: {endpoints: {patches: [
  {path: metadata.labels.app, expression: 'value.startsWith("no-") ? value.no.way : "h-" + value', reverseExpression: value.slice(2)}
  ]}}}`;
const virtual = (app: string) =>
  `{apiVersion: v1, kind: Endpoints, metadata: {name: a, namespace: n, labels: {app: "${app}"}}}`;

async function test(files: Record<string, string>, ...argv: string[]) {
  const on = scene({ files });
  const code = await runCommandLine(on.context, ['test', ...argv]);
  return { code, out: on.out(), err: on.err(), files: on.files };
}

describe('hostward test', () => {
  it('--update writes the results, keeps the comments at the head, and the case then passes', async () => {
    const files = {
      '/home/c/one/config.yaml': config,
      '/home/c/one/virtual.yaml': virtual('x'),
      '/home/c/one/host.yaml': '# Why it is so.\n# Two lines.\nkind: Endpoints\nmetadata: {name: old}\n',
      '/home/c/one/back/host.yaml':
        '{kind: Endpoints, metadata: {name: a-x-n-x-my-vcluster, namespace: vcluster-my-vcluster, labels: {app: h-new}}}',
    };
    const before = await test(files, 'c');
    expect(before.code).toBe(1);
    expect(before.out).toMatch(/^FAIL c\/one \(0 ms\)\n {5}host\.yaml differs\n {5}--- host\.yaml, expected\n/);
    expect(before.out).toContain('back/virtual.yaml is missing; --update writes it');
    const update = await test(files, 'c', '--update');
    expect(update.out).toContain('ok   c/one (0 ms, wrote host.yaml, back/virtual.yaml)');
    const written = Object.fromEntries([...update.files].map(([path, { text }]) => [path, text]));
    expect(written['/home/c/one/host.yaml']).toMatch(
      /^# Why it is so.\n# Two lines.\napiVersion: v1\n[\s\S]*app: h-x\n/,
    );
    expect(written['/home/c/one/back/virtual.yaml']).toContain('    app: new\n');
    expect(await test(written, 'c/')).toMatchObject({ code: 0, out: 'ok   c/one (0 ms)\n1 case, none failed\n' });
  });

  it('needs the message of a failing patch in says.txt', async () => {
    const files = {
      '/home/c/config.yaml': config,
      '/home/c/virtual.yaml': virtual('no-x'),
      '/home/c/host.yaml': '# Nothing.\n',
    };
    expect((await test(files, 'c')).out).toContain(
      'a patch failed, and there is no says.txt that expects it: config.yaml:2',
    );
    const says = { '/home/c/says.txt': 'patch 0 failed at "metadata.labels.app"\n\n' };
    expect((await test({ ...files, ...says }, 'c')).code).toBe(0);
    const other = await test({ ...files, '/home/c/says.txt': 'patch 1 failed' }, 'c');
    expect(other.out).toContain('says.txt: wanted the message: patch 1 failed\n');
  });

  it('adds the defaults of an API server to expected objects: the protocol of a port, no empty lists', async () => {
    const subsets = (port: string) => `subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80${port}}]}]`;
    const files = {
      '/home/c/config.yaml': 'hostward: {}\n',
      '/home/c/virtual.yaml': `{kind: Endpoints, metadata: {name: a, namespace: n}, ${subsets('')}}`,
    };
    const { files: written } = await test(files, 'c', '--update');
    const after = Object.fromEntries([...written].map(([path, { text }]) => [path, text]));
    const host = after['/home/c/host.yaml'] as string;
    expect(host).toContain('    protocol: TCP\n');
    const short = host.replace('    protocol: TCP\n', '').concat('  notReadyAddresses: []\n');
    expect((await test({ ...after, '/home/c/host.yaml': short }, 'c')).code).toBe(0);
    expect((await test({ ...after, '/home/c/host.yaml': host.replace('TCP', 'UDP') }, 'c')).code).toBe(1);
  });

  it('needs the message of a failing reverse expression in back/says.txt', async () => {
    const files = {
      '/home/c/config.yaml': config.replace('value.slice(2)', 'value.no.way'),
      '/home/c/virtual.yaml': virtual('x'),
      '/home/c/back/host.yaml':
        '{kind: Endpoints, metadata: {name: a-x-n-x-my-vcluster, namespace: vcluster-my-vcluster, labels: {app: h-y}}}',
    };
    expect((await test(files, 'c')).out).toContain('a patch failed, and there is no back/says.txt that expects it:');
    const { files: written } = await test(files, 'c', '--update');
    const after = Object.fromEntries([...written].map(([path, { text }]) => [path, text]));
    expect(after['/home/c/back/says.txt']).toContain('patch 0 failed at "metadata.labels.app"');
    expect((await test(after, 'c')).code).toBe(0);
  });

  it.each(['', ', labels: {}, annotations: {}'])('drops an empty map, as an API server does: "%s"', async (nothing) => {
    const host = '{kind: Endpoints, metadata: {name: a-x-n-x-my-vcluster, namespace: vcluster-my-vcluster, labels: {';
    const files = {
      '/home/c/config.yaml': config,
      '/home/c/virtual.yaml': virtual('x'),
      '/home/c/back/host.yaml': `${host}}}}`,
      '/home/c/back/virtual.yaml': `{kind: Endpoints, apiVersion: v1, metadata: {name: a, namespace: n${nothing}}, subsets: []}`,
    };
    const { out } = await test(files, 'c');
    expect(out).not.toContain('back/virtual.yaml differs');
  });

  it('reports a case that cannot run as failed, and goes on', async () => {
    const files = {
      '/home/c/broken/config.yaml': 'sync: {toHost: {endpoints: {patches: [{path: "a[", expression: value}]}}}\n',
      '/home/c/empty/config.yaml': '{}\n',
      '/home/c/good/config.yaml': 'hostward: {}\n',
      '/home/c/good/virtual.yaml': virtual('x'),
      '/home/c/wrong/config.yaml': 'hostward: {}\n',
      '/home/c/wrong/virtual.yaml': '{kind: Endpoints, metadata: {name: a, labels: {app: 5}}}',
    };
    const { code, out, files: after } = await test(files, 'c', '-o', 'json', '--junit', 'out.xml');
    expect(code).toBe(1);
    const { cases, failed } = JSON.parse(out);
    expect(failed).toBe(4);
    const texts = Object.fromEntries(
      cases.map((one: { name: string; problems: { text: string }[] }) => [one.name, one.problems[0]?.text]),
    );
    expect(texts).toEqual({
      'c/broken': expect.stringContaining('config.yaml:1:'),
      'c/empty': 'cannot open "/home/c/empty/virtual.yaml": there is no such file or folder',
      'c/good': expect.stringContaining('host.yaml is missing; --update writes it'),
      'c/wrong': expect.stringContaining('virtual.yaml: Endpoints "a": metadata.labels["app"]: wanted a text, found 5'),
    });
    const junit = after.get('/home/out.xml')?.text;
    expect(junit).toContain('<testsuite name="hostward test" tests="4" failures="4" time="0.000">');
    expect(junit).toContain('<failure message="host.yaml is missing; --update writes it">');
    expect(junit).toContain('&quot;a&quot;');
  });

  it('looks for cases below a folder, but not in those of other packages, and not deeper than eight', async () => {
    const files = {
      '/home/c/own/config.yaml': 'hostward: {}\n',
      '/home/c/node_modules/other/config.yaml': 'hostward: {}\n',
      '/home/c/1/2/3/4/5/6/7/8/config.yaml': 'hostward: {}\n',
      '/home/c/1/2/3/4/5/6/7/8/9/config.yaml': 'hostward: {}\n',
      '/home/c/a/2/3/4/5/6/7/8/9/config.yaml': 'hostward: {}\n',
    };
    const { out } = await test(files, 'c', '-o', 'json');
    const { cases } = JSON.parse(out) as { cases: { name: string }[] };
    expect(cases.map(({ name }) => name).sort()).toEqual(['c/1/2/3/4/5/6/7/8', 'c/own']);
  });

  it.each([
    ['no folder', [], 2],
    ['a folder that is not there', ['gone'], 1],
    ['a folder without cases', ['c'], 1],
  ])('ends with a sentence for %s', async (_, argv, code) => {
    const result = await test({ '/home/c/other.txt': '' }, ...argv);
    expect([result.code, result.out]).toEqual([code, '']);
    expect(result.err).toMatch(/^hostward: /);
  });
});
