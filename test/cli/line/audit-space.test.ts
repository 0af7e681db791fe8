import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { scene } from '../scene.ts';

const gib = 1024 ** 3;

async function check(text: string, volumes: Record<string, number>) {
  const { context, out } = scene({ files: { '/home/h.yaml': text }, volumes });
  return { code: await runCommandLine(context, ['check', 'h.yaml']), out: out() };
}

const settings = (more = '') =>
  `hostward:\n  management:\n    listen: 127.0.0.1:8443\n    dataDir: /data/management\n${more}`;

describe('check compares the audit log with its volume', () => {
  it('is content with the default on a volume of a gibibyte, below the folder that is mounted', async () => {
    for (const place of ['/data/management', '/data'])
      expect(await check(settings(), { [place]: gib })).toEqual({ code: 0, out: 'no faults, no warnings\n' });
  });

  it('names both sizes and the number of files that fits', async () => {
    const { code, out } = await check(settings('    audit: {keepFiles: 100}\n'), { '/data': gib });
    expect(code).toBe(0);
    expect(out).toContain('h.yaml:4:14: warning: hostward.management.audit.keepFiles: 100 full files of the audit log');
    expect(out).toContain('take 6.3 GiB, and the volume of /data/management has 1.0 GiB');
    expect(out).toContain('set keepFiles to at most 13, or give dataDir a volume of 6.4 GiB');
    const smallest = await check(settings('    audit: {keepFiles: 13}\n'), { '/data': gib });
    expect(smallest.out).toBe('no faults, no warnings\n');
  });

  it('names a larger volume where no number of files fits', async () => {
    const { out } = await check(settings(), { '/data/management': gib / 8 });
    expect(out).toContain('give dataDir a volume of 0.8 GiB');
    expect(out).not.toContain('at most');
  });

  it('says nothing where the volume is elsewhere, or the log is to grow without an end', async () => {
    expect((await check(settings('    audit: {keepFiles: 100}\n'), {})).out).toBe('no faults, no warnings\n');
    // As /proc has: a folder there cannot be made at all, and another message says so.
    expect((await check(settings(), { '/data': 0 })).out).not.toContain('keepFiles');
    const endless = await check(settings('    audit: {keepFiles: 0}\n'), { '/data': gib });
    expect(endless.out).toBe('no faults, no warnings\n');
  });

  it('is content with the sample on the volume that it asks for', async () => {
    const text = readFileSync(new URL('../../../config/management.yaml', import.meta.url), 'utf8');
    const documents = parseAllDocuments(text).map((document) => document.toJS());
    const of = (kind: string) => documents.find((one) => one.kind === kind);
    const storage = of('PersistentVolumeClaim').spec.resources.requests.storage;
    expect(storage).toMatch(/^\d+Gi$/);
    const volume = Number.parseInt(storage, 10) * gib;
    const configuration = of('ConfigMap').data['hostward.yaml'];
    // A file system takes a part of the volume for itself.
    const { out } = await check(configuration, { '/var/lib/hostward': 0.94 * volume });
    expect(out).not.toContain('keepFiles');
    const larger = configuration.replace('listen: 0.0.0.0:8443', 'listen: 0.0.0.0:8443\n    audit: {keepFiles: 100}');
    expect((await check(larger, { '/var/lib/hostward': volume })).out).toContain('keepFiles');
  });
});
