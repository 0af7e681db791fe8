// docs/metrics.md is made from what a running daemon and a direct endpoint answer at /metrics.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../src/cli/demo/free-ports.ts';
import { declareDirectMetrics } from '../../src/management/proxy/direct/direct-metrics.ts';
import { createMetrics } from '../../src/metrics.ts';
import { Processes, root } from './processes.ts';

interface Metric {
  name: string;
  type: string;
  help: string;
  labels: readonly string[];
}

/** Everything is on that has metrics of its own. */
const everything = (ports: readonly number[]) => ({
  sync: {
    toHost: {
      endpoints: {
        patches: [
          { path: 'metadata.labels.team', expression: '"t-" + value', reverseExpression: 'value.replace(/^t-/, "")' },
          { path: 'metadata.annotations.secret', reference: { apiVersion: 'v1', kind: 'Secret' } },
        ],
      },
      secrets: { enabled: true },
    },
  },
  hostward: {
    listen: `127.0.0.1:${ports[0]}`,
    leaderElection: 'always',
    endpointSlices: { enabled: true },
    management: { listen: `127.0.0.1:${ports[1]}`, dataDir: 'management', users: [{ name: 'alice' }] },
  },
});

const idle = { open: 0, refused: 0, waiting: 0, lost: 0 };

async function directMetrics(): Promise<string> {
  const metrics = createMetrics();
  declareDirectMetrics(metrics, {
    ...{ proxied: () => 0, feedAgeSeconds: () => 0, failedLogins: () => 0, isReady: () => true },
    ...{ auditLines: () => idle, connections: () => idle },
  });
  return metrics.metrics();
}

function metricsIn(text: string): Metric[] {
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)\n((?:[^#\n].*\n?)*)/gm)].map(
    ([, name = '', help = '', type = '', series = '']) => {
      const labels = [...series.matchAll(/[{,](\w+)="/g)].map(([, label]) => label as string);
      return { name, help, type, labels: [...new Set(labels)].filter((label) => label !== 'le') };
    },
  );
}

describe('docs/metrics.md', () => {
  const processes = new Processes();
  let all: Metric[];
  const chapters = (): [string, string, readonly Metric[]][] => {
    const of = (pattern: RegExp) => all.filter(({ name }) => pattern.test(name));
    const direct = of(/^hostward_(direct|revocation)_/);
    const management = of(
      /^hostward_(access_keys|management|client_certificate|failed_auth|unauthenticated|connections_given|proxied)/,
    );
    const patches = of(/^hostward_(patch|expression|sandbox|reference)_/);
    const clusters = of(/^hostward_(watch|list|proof|window|request|lease|leader|cluster|missing_rights)/);
    const process = of(/^(process|nodejs)_|^hostward_(build|event_loop|config|queue)/);
    const named = new Set([direct, management, patches, clusters, process].flat());
    return [
      ['Sync', '', all.filter((one) => !named.has(one))],
      ['Clusters', 'Of the connections to both API servers.', clusters],
      [
        'Patches, expressions and references',
        'Where patches or references are configured; a reload that brings the first patch begins its series.',
        patches,
      ],
      ['Process, queue and configuration', '', process],
      ['Management API', 'Where `hostward.management` is configured.', management],
      ['Direct endpoint', 'Of `hostward direct`, beside those of the process.', direct],
    ];
  };

  beforeAll(async () => {
    const ports = await freePorts(2);
    for (const side of ['virtual', 'host'])
      await processes.serve(['devcluster', '--kubeconfig', `${side}.kubeconfig`], 'https://');
    writeFileSync(join(processes.folder, 'hostward.yaml'), JSON.stringify(everything(ports)));
    // A namespace that the embedded host has from the start.
    const names = ['--vcluster-name', 'my-vcluster', '--host-namespace', 'default'];
    const kubeconfigs = ['--virtual-kubeconfig', 'virtual.kubeconfig', '--host-kubeconfig', 'host.kubeconfig'];
    await processes.serve(['run', '--config', 'hostward.yaml', ...names, ...kubeconfigs], 'leadership changed');
    const daemon = await (await fetch(`http://127.0.0.1:${ports[0]}/metrics`)).text();
    const found = new Map([...metricsIn(daemon), ...metricsIn(await directMetrics())].map((one) => [one.name, one]));
    all = [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  }, 60_000);
  afterAll(() => processes.stop());

  function page(): string {
    const lines = [
      '# Metrics',
      '',
      '<!-- Made from the answer of a running daemon; `UPDATE_GOLDEN=1 npm test` writes it again. -->',
      '',
      'The daemon answers at `/metrics` of `hostward.listen` in the format of Prometheus. Every series of what is configured exists from the',
      'start, so that what never happened reads 0. A name that ends in `_total` is a counter; it only grows while the process runs. [Alerts](alerts.md) has rules for the',
      'series that matter most. Hostward sends nothing to anybody: it has no telemetry, and only answers who asks.',
    ];
    for (const [title, text, metrics] of chapters()) {
      lines.push(
        '',
        `## ${title}`,
        '',
        ...(text === '' ? [] : [text, '']),
        '| metric | type | labels | meaning |',
        '|---|---|---|---|',
      );
      for (const { name, type, labels, help } of metrics)
        lines.push(`| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`);
    }
    return `${lines.join('\n')}\n`;
  }

  it('lists every metric with its type, labels and help', () => {
    const file = join(root, 'docs/metrics.md');
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, page());
    expect(readFileSync(file, 'utf8')).toBe(page());
  });

  it('knows every metric that the sources name', () => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(root, 'src', file), 'utf8'))
      .join('\n');
    const named = [...sources.matchAll(/'(hostward_[a-z_]+)'/g)].map(([, name]) => name as string);
    const known = new Set(all.map(({ name }) => name));
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
  });

  it('counters alone are called _total', () => {
    for (const { name, type } of all) expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
  });

  it('no metric has a label that belongs to another type', () => {
    const wrong = all.filter(
      ({ type, labels }) =>
        (type !== 'summary' && labels.includes('quantile')) || (type !== 'histogram' && labels.includes('le')),
    );
    expect(wrong).toEqual([]);
  });

  it('every metric has a help text', () => {
    expect(all.filter(({ help }) => help.length < 10)).toEqual([]);
  });
});
