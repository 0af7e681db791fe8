import { describe, expect, it } from 'vitest';
import { makeServingCertificate } from '../../../../src/apiserver/tls/certificates.ts';
import { kubeconfigText } from '../../../../src/apiserver/tls/kubeconfig.ts';
import { runCommandLine } from '../../../../src/cli/command-line.ts';
import { scene } from '../../scene.ts';
import { check, named, own } from './stage.ts';

const { certPem } = await makeServingCertificate('c', ['c'], new Date('2026-01-01T00:00:00Z'));

/** A kubeconfig that says nothing wrong. */
const kubeconfig = kubeconfigText({ name: 'c', url: 'https://c:6443', caPem: certPem, token: 't', user: 'u' });

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
    ['an empty file', { '/home/gone.yaml': '' }, 'gone.yaml:1:1: the file is empty'],
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

  it.each([true, false])('says with both kinds on (%s) that slices are beside Endpoints', async (enabled) => {
    const text = `hostward: {endpointSlices: {enabled: ${enabled}}}\n`;
    const { out } = await check({ files: { '/home/v.yaml': text } }, 'v.yaml', ...named);
    expect(out.includes('beside a synced Endpoints of the same Service')).toBe(enabled);
  });

  it('takes names from the environment', async () => {
    const environment = { VCLUSTER_NAME: 'vc', NAMESPACE: 'vcluster-vc' };
    expect((await check({ environment })).out).toMatch(/^no faults, no warnings/);
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
