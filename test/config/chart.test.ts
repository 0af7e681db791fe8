// What can be read in the chart and in the values of the sidecar without Helm: what is off until somebody asks for it, what is never made,
// and how pods reach the virtual cluster. test/kube/install/ renders the chart.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root } from './loading.ts';

const read = (path: string) => readFileSync(join(root, 'config', path), 'utf8');
const templates = readdirSync(join(root, 'config/chart/templates'));

describe('the chart', () => {
  it.each(templates)(
    'has no hook in %s, so that no image and no job can hold up an installation or its end',
    (file) => {
      expect(read(`chart/templates/${file}`)).not.toMatch(/helm\.sh\/hook/);
    },
  );

  it('runs no image but its own, which the values name', () => {
    const images = templates.flatMap((file) => [
      ...read(`chart/templates/${file}`).matchAll(/^ *(?:- )?image: *(.*)$/gm),
    ]);
    expect(images.length).toBeGreaterThan(1);
    for (const [, image] of images) expect(image).toMatch(/^\{\{ include "hostward\.image" \S+ \}\}$/);
  });

  it('makes neither management API nor network or admission policy nor dashboard until the values ask for it', () => {
    const { sync, management, networkPolicy, admissionPolicy, monitoring } = parse(read('chart/values.yaml'));
    const isOn = [sync, management, networkPolicy, admissionPolicy].map(({ enabled }) => enabled);
    expect([...isOn, monitoring.dashboard]).toEqual([true, false, false, false, false]);
  });

  it('reaches the virtual cluster under the name that config/deployment.yaml uses', () => {
    const [, format = '', words = ''] =
      /\$server := \.Values\.sync\.vcluster\.server \| default \(printf "([^"]*)" ([^)]*)\)/.exec(
        read('chart/templates/_helpers.tpl'),
      ) ?? [];
    const known: Readonly<Record<string, string>> = {
      $name: 'my-vcluster',
      '.Release.Namespace': 'vcluster-my-vcluster',
    };
    const names = words.split(' ').map((word) => known[word]);
    const server = names.reduce<string>((text, name) => text.replace('%s', String(name)), format);
    const sample = parseAllDocuments(read('deployment.yaml'))
      .map((document) => document.toJS())
      .find(({ kind }) => kind === 'ConfigMap');
    expect(server).toBe(parse(sample.data['hostward.yaml']).hostward.virtualServer);
  });
});

describe('the sidecar', () => {
  it.each(['sidecar-values.yaml', 'vcluster.yaml'])('of %s is root in one place only, and says why there', (file) => {
    const text = read(file);
    expect(text.match(/runAsUser/g)).toHaveLength(1);
    expect(text).toMatch(/# Only root may read the kubeconfig in \/data\/pki\.\n +runAsUser: 0\n/);
  });
});
