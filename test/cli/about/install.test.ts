import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { scene } from '../scene.ts';

const samples = ['sidecar-values.yaml', 'role.yaml', 'cluster-role.yaml', 'deployment.yaml'];
const sample = (file: string) =>
  readFileSync(fileURLToPath(new URL(`../../../config/${file}`, import.meta.url)), 'utf8');
const files = Object.fromEntries(samples.map((file) => [`/opt/hostward/config/${file}`, sample(file)]));

async function install(...words: string[]) {
  const { context, out, err } = scene({ files });
  const code = await runCommandLine(context, ['install', ...words]);
  return { code, out: out(), err: err() };
}

const names = ['--vcluster-name', 'shop', '--host-namespace', 'tenants', '--image', 'registry.example/hw:1'];

describe('hostward install', () => {
  it.each(['values', 'manifests', 'chart-values'])('writes no name of the samples into %s', async (what) => {
    const { code, out } = await install(what, ...names);
    expect(code).toBe(0);
    expect(out).not.toMatch(/my-vcluster|image: hostward/);
    for (const document of parseAllDocuments(out)) expect(document.errors).toEqual([]);
  });

  it('gives the samples as they are for the names in them', async () => {
    const version = (await install('values', '--vcluster-name', 'x')).out.match(/image: (.*)/)?.[1] ?? '';
    const given = ['--vcluster-name', 'my-vcluster', '--image', 'hostward:0.1.0'];
    expect(version).toMatch(/^hostward:/);
    expect((await install('values', ...given)).out).toBe(sample('sidecar-values.yaml'));
    expect((await install('manifests', '--mapped', ...given)).out).toBe(
      `${sample('cluster-role.yaml')}---\n${sample('deployment.yaml')}`,
    );
  });

  it('fills in name, namespace and image', async () => {
    const values = parse((await install('values', ...names)).out);
    const [sidecar] = values.controlPlane.statefulSet.sidecarContainers;
    expect(sidecar.env).toContainEqual({ name: 'VCLUSTER_NAME', value: 'shop' });
    expect(sidecar.image).toBe('registry.example/hw:1');
    const manifests = parseAllDocuments((await install('manifests', ...names)).out).map((one) => one.toJS());
    for (const { metadata } of manifests) expect(metadata.namespace).toBe('tenants');
    const configuration = manifests.find(({ kind }) => kind === 'ConfigMap').data['hostward.yaml'];
    expect(parse(configuration).hostward).toMatchObject({ virtualClusterName: 'shop', hostNamespace: 'tenants' });
  });

  it.each([
    ['registry.example:5000/hw:1.2', { repository: 'registry.example:5000/hw', tag: '1.2' }],
    ['registry.example:5000/hw', { repository: 'registry.example:5000/hw' }],
    [`hw@sha256:${'a'.repeat(64)}`, { repository: 'hw', digest: `sha256:${'a'.repeat(64)}` }],
  ])('cuts the image %s for the chart', async (image, wanted) => {
    const { out } = await install('chart-values', '--vcluster-name', 'shop', '--image', image);
    expect(parse(out)).toEqual({ image: wanted, sync: { vcluster: { name: 'shop' }, toHost: {} } });
  });

  it.each([
    [['bogus'], 'wants values, manifests or chart-values, found "bogus"'],
    [['manifest'], 'did you mean "manifests"?'],
    [[], 'found nothing'],
    [['values'], 'the name of the virtual cluster is not given'],
    [['values', '--vcluster-name', 'A b'], '--vcluster-name wants lower-case letters'],
    [['everything', '--vcluster-name', 'a'], 'wants values, manifests or chart-values, found "everything"'],
    [['--vcluster-name', 'a'], 'wants values, manifests or chart-values, found nothing'],
  ])('refuses %j in one sentence', async (words, sentence) => {
    const { code, out, err } = await install(...words);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(sentence);
  });

  it.each([
    [[], ['found nothing', 'the name of the virtual cluster is not given']],
    [['manifest'], ['did you mean "manifests"?', 'the name of the virtual cluster is not given']],
    [
      ['bogus', '--vcluster-name', 'A b', '--host-namespace', 'C'],
      ['found "bogus"', '--vcluster-name wants', '--host-namespace wants'],
    ],
  ])('names every fault of %j at once', async (words, sentences) => {
    const { code, err } = await install(...words);
    expect(code).toBe(2);
    const lines = err.trimEnd().split('\n');
    expect(lines).toEqual([
      ...sentences.map((one) => expect.stringContaining(one)),
      `hostward: the command line has ${sentences.length} faults`,
    ]);
  });
});
