import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { kubeconfigText } from '../../../src/apiserver/tls/kubeconfig.ts';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { demoConfiguration } from '../../../src/cli/demo/demo-patches.ts';
import { type SceneOptions, scene } from '../scene.ts';

async function check(options: SceneOptions, ...argv: string[]) {
  const { context, out, err } = scene(options);
  const code = await runCommandLine(context, ['check', ...argv]);
  return { code, out: out(), err: err() };
}

/** Stands after the list of patches; without it every file gets the warning that vCluster writes too. */
const oneWriter =
  '      enabled: false\n    endpointSlices: {enabled: false}\nhostward: {endpoints: {enabled: true}}\n';

/** Each reading of the clock is an hour later. */
let hour = 0;
const hours = () => hour++ * 3_600_000;

const { certPem } = await makeServingCertificate('c', ['c'], new Date('2026-01-01T00:00:00Z'));

const named = ['--vcluster-name', 'vc', '--host-namespace', 'vcluster-vc'];

interface InvalidResultCase {
  path: string;
  expression: string;
  severity?: 'fault' | 'warning';
  says?: string;
}

const invalidResults = JSON.parse(
  readFileSync(new URL('../../../fixtures/sync/invalid-results.json', import.meta.url), 'utf8'),
) as InvalidResultCase[];

/** A kubeconfig that says nothing wrong. */
const kubeconfig = kubeconfigText({ name: 'c', url: 'https://c:6443', caPem: certPem, token: 't', user: 'u' });

const own = 'hostward:\n  endpoints: {enabled: true}\n';

describe('hostward check', () => {
  it('accepts a valid file from every source', async () => {
    const files = { '/home/v.yaml': 'hostward: {endpoints: {enabled: true}}\n' };
    expect(await check({ files }, '-c', 'v.yaml', ...named)).toEqual({
      code: 0,
      out: 'no faults, no warnings\n',
      err: '',
    });
    const unnamed = await check({ files }, '-c', 'v.yaml');
    expect(unnamed.code).toBe(0);
    expect(unnamed.out).toContain('warning: the name of the virtual cluster is not given');
  });

  it('reports every fault at once, with its position, a caret and a fix, and ends with 1', async () => {
    const files = {
      '/home/v.yaml': 'sync:\n  toHost:\n    endpoints:\n      enabled: maybe\nhostward:\n  backsync: all\n',
    };
    const { code, out } = await check({ files }, '-c', 'v.yaml', ...named);
    expect(code).toBe(1);
    expect(out).toContain('v.yaml:4:16: sync.toHost.endpoints.enabled: wanted true or false, found "maybe"');
    expect(out).toContain('        enabled: maybe\n                 ^\n');
    expect(out).toContain('did you mean backSync?');
    expect(out).toContain('2 faults, no warnings');
  });

  it('reports faults in the order of the file, and faults of patches among the others', async () => {
    const files = {
      '/home/v.yaml':
        'sync: {toHost: {endpoints: {patches: [\n  {path: "metadata.labels[a", expression: value},\n  {pathh: x}]}}}\nhostward:\n  listen: 99\n',
    };
    const { out } = await check({ files }, '-c', 'v.yaml', ...named);
    const lines = [...out.matchAll(/^v\.yaml:(\d+):/gm)].map(([, line]) => Number(line));
    expect(lines).toEqual([2, 3, 5]);
  });

  it('says that it checked the defaults when no file is given', async () => {
    expect(await check({}, ...named)).toMatchObject({
      code: 0,
      out: 'no faults, no warnings in the defaults, because no --config was given\n',
    });
  });

  it('judges the rest of a file when names are missing', async () => {
    const { code, out } = await check({ files: { '/home/v.yaml': 'hostward: {listen: nowhere}\n' } }, '-c', 'v.yaml');
    expect(code).toBe(1);
    expect(out).toContain('hostward.listen');
    expect(out).toContain('1 fault, 2 warnings');
  });

  it('prints JSON for other programs', async () => {
    const { code, out } = await check(
      { files: { '/home/v.yaml': 'hostward: {backSync: some}\n' } },
      '-c',
      'v.yaml',
      ...named,
      '-o',
      'json',
    );
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      faults: [{ path: 'hostward.backSync', file: 'v.yaml', line: 1, column: 22, severity: 'fault' }],
      warnings: [],
    });
  });

  it.each([
    ['a missing file', {}, 'gone.yaml: wanted a configuration file, found no file of this name'],
    ['a folder', { '/home/gone.yaml/': '' }, 'gone.yaml: wanted a configuration file, found a directory'],
    ['broken YAML', { '/home/gone.yaml': 'a: [\n' }, 'gone.yaml:'],
    ['an empty file', { '/home/gone.yaml': '' }, 'gone.yaml: the file is empty'],
  ])('refuses %s with a sentence', async (_, files, sentence) => {
    const { code, out } = await check({ files }, '-c', 'gone.yaml', ...named);
    expect(code).toBe(1);
    expect(out).toContain(sentence);
  });

  it.each([
    ['a ConfigMap', 'kind: ConfigMap\napiVersion: v1\ndata:\n  hostward.yaml: "hostward: {}"\n', '"hostward.yaml"'],
    ['a HelmRelease', 'apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec: {}\n', 'inside the object'],
  ])('refuses %s as a configuration, because none of its settings would be read', async (_, text, way) => {
    const { code, out } = await check({ files: { '/home/v.yaml': text } }, 'v.yaml', ...named);
    expect(code).toBe(1);
    expect(out).toContain('kind: this is a Kubernetes object');
    expect(out).toContain(way);
  });

  it('ends with 1 on warnings too when it is strict', async () => {
    const files = { '/home/v.yaml': 'sync: {toHost: {services: {enabled: true}}}\n', '/home/good.yaml': own };
    expect((await check({ files }, 'v.yaml', ...named)).code).toBe(0);
    expect((await check({ files }, 'v.yaml', ...named, '--strict')).code).toBe(1);
    expect((await check({ files }, 'good.yaml', ...named, '--strict')).code).toBe(0);
  });

  it('looks at the files that the configuration names', async () => {
    const text = `hostward:
  endpoints: {enabled: true}
  hostKubeconfig: host.conf
  management:
    dataDir: /not/there/yet
    tls: {certificate: /tls/tls.crt, key: /tls/tls.key}
    clusters: [{name: c1, kubeconfig: empty.conf}]
    projects: [{name: shop, virtualClusters: [{name: v1, kubeconfig: /folder}]}]
`;
    const files = {
      '/home/v.yaml': text,
      '/home/host.conf': kubeconfig,
      '/tls/tls.crt': certPem,
      '/home/empty.conf': '',
      '/folder/': '',
    };
    const { code, out } = await check({ files }, 'v.yaml', ...named);
    expect(code).toBe(1);
    const found = out.split('\n').filter((line) => line.startsWith('v.yaml:'));
    const fix = 'or give --no-files where the files live elsewhere';
    expect(found).toEqual([
      `v.yaml:6:43: hostward.management.tls.key: wanted a file that can be read, found nothing at "/tls/tls.key"; correct the path ${fix}`,
      `v.yaml:7:39: hostward.management.clusters[0].kubeconfig: wanted a file that can be read, found an empty file at "empty.conf"; correct the path, which counts from the working folder, ${fix}`,
      `v.yaml:8:70: hostward.management.projects[0].virtualClusters[0].kubeconfig: wanted a file that can be read, found a folder at "/folder"; correct the path ${fix}`,
    ]);
    expect(await check({ files }, 'v.yaml', ...named, '--no-files')).toMatchObject({ code: 0 });
  });

  it('says of a file that is closed to this process who has to open it', async () => {
    const files = { '/home/v.yaml': `${own}  virtualKubeconfig: /tls/closed\n` };
    const { out } = await check({ files, closed: ['/tls/closed'] }, 'v.yaml', ...named);
    expect(out).toContain(
      'found a file that this process may not read at "/tls/closed"; let the user of this process read it (chown or chmod) or correct the path or give',
    );
  });

  it('looks at the kubeconfig of an option instead of the one that it replaces', async () => {
    const files = { '/home/v.yaml': `${own}  virtualKubeconfig: gone\n`, '/home/there': kubeconfig };
    const given = ['v.yaml', ...named, '--virtual-kubeconfig'];
    expect((await check({ files }, 'v.yaml', ...named)).out).toContain('hostward.virtualKubeconfig: wanted a file');
    expect(await check({ files }, ...given, 'there')).toMatchObject({ code: 0 });
    expect((await check({ files }, ...given, 'nowhere')).out).toContain('--virtual-kubeconfig: wanted a file');
  });

  it('reads standard input', async () => {
    const { code, out } = await check({ stdin: 'hostward: {backSync: some}\n' }, '-c', '-');
    expect(code).toBe(1);
    expect(out).toContain('-:1:22: hostward.backSync');
  });

  it.each([
    ['sync: {toHost: {endpoints: {patches: []}}}', ['v.yaml:1:', 'v.yaml:1:']],
    ['sync: {toHost: {endpoints: {enabled: true}, endpointSlices: {enabled: false}}}', ['v.yaml:1:38: warning: sync']],
    ['sync: {toHost: {services: {enabled: true}}}', ['vCluster syncs EndpointSlices', 'vCluster syncs Endpoints']],
  ])('warns that vCluster writes the same objects, in the ordinary file too: %s', async (text, said) => {
    const { out } = await check({ files: { '/home/v.yaml': `${text}\n` } }, 'v.yaml', ...named);
    expect(out).toContain(`no faults, ${said.length} warning`);
    for (const words of said) expect(out).toContain(words);
  });

  it.each([true, false])('says with both kinds on (%s) that slices stand beside Endpoints', async (enabled) => {
    const text = `hostward: {endpointSlices: {enabled: ${enabled}}}\n`;
    const { out } = await check({ files: { '/home/v.yaml': text } }, 'v.yaml', ...named);
    expect(out.includes('beside a synced Endpoints of the same Service')).toBe(enabled);
  });

  it('takes names from the environment', async () => {
    const environment = { VCLUSTER_NAME: 'vc', NAMESPACE: 'vcluster-vc' };
    expect((await check({ environment })).out).toMatch(/^no faults, no warnings/);
  });
});

describe('hostward check on patches', () => {
  const patches = (...entries: string[]) =>
    `sync:\n  toHost:\n    endpoints:\n      patches:\n${entries.map((text) => text.replace(/^/gm, '        ')).join('\n')}\n${oneWriter}`;
  const checkText = (text: string, ...more: string[]) =>
    check({ files: { '/home/v.yaml': text } }, '-c', 'v.yaml', ...named, ...more);

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
    const root = new URL('../../..', import.meta.url);
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

  it('tries single expressions too, and reports an expression without a result on any sample', async () => {
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
  }, 20_000);

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

describe('hostward check --compat on references', () => {
  const noteOf = async (reference: string, more = '') => {
    const text = `hostward: {endpoints: {enabled: true}${more}}\nsync: {toHost: {endpoints: {enabled: false, patches: [{path: metadata.annotations.a, reference: ${reference}}]}}}\n`;
    const { out } = await check({ files: { '/home/v.yaml': text } }, 'v.yaml', ...named, '--compat', '-o', 'json');
    const notes = JSON.parse(out).compat as { rule: string; hostward: string; vcluster: string }[];
    return notes.find(({ rule }) => rule === 'reference-name');
  };
  const long = 'my-name-x-default-x-vc';

  it('names the reference that the daemon will write, and the reason', async () => {
    expect(await noteOf('{apiVersion: v1, kind: Pod}')).toMatchObject({
      hostward: expect.stringMatching(
        /^writes "v[0-9a-z]{13}" for the Pod default\/my-name, a name that no host object has, because hostward\.references\.naming is generated$/,
      ),
      vcluster: `writes "${long}"`,
    });
    expect((await noteOf('{apiVersion: v1, kind: Secret}'))?.hostward).toContain('the name of its copy, because');
    expect((await noteOf('{apiVersion: v1, kind: Pod, naming: vcluster}'))?.hostward).toBe(
      `writes "${long}" for the Pod default/my-name, because reference.naming of the entry is vcluster`,
    );
    expect((await noteOf('{apiVersion: v1, kind: Pod}', ', references: {naming: vcluster}'))?.hostward).toBe(
      `writes "${long}" for the Pod default/my-name, because hostward.references.naming is vcluster`,
    );
  });
});

describe('hostward schema', () => {
  it('prints a JSON Schema', async () => {
    const { context, out } = scene();
    expect(await runCommandLine(context, ['schema'])).toBe(0);
    expect(JSON.parse(out())).toMatchObject({
      $schema: expect.stringContaining('json-schema.org'),
      type: ['object', 'null'],
    });
  });
});
