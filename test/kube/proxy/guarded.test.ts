// These tests need no Kubernetes: a guarded program must not outlive the process that started it.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pause, systemClock } from '../../../src/clock.ts';
import { kubeAssets } from '../start/assets.ts';
import { guarded } from './guarded.ts';

const pollMs = 5;

describe('guarded()', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hostward-guarded-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('ends the program at stop()', async () => {
    const program = guarded('/bin/sh', ['-c', 'echo $$; exec sleep 60'], { logFile: join(folder, 'log') });
    const pid = await pidIn(join(folder, 'log'));
    await program.stop();
    expect(program.running).toBe(false);
    await until(() => !isAlive(pid));
  });

  it('reports the last log lines of a program that ends by itself', async () => {
    const program = guarded('/bin/sh', ['-c', 'echo no such flag >&2; exit 3'], { logFile: join(folder, 'log') });
    expect(await program.ended).toContain('no such flag');
    expect(program.running).toBe(false);
  });

  it('ends the program and removes its folder when the starter is killed outright', async () => {
    const removed = join(folder, 'removed');
    mkdirSync(removed);
    const log = join(folder, 'log');
    const script = join(folder, 'starter.ts');
    writeFileSync(
      script,
      `import { guarded } from ${JSON.stringify(new URL('guarded.ts', import.meta.url).href)};
       guarded('/bin/sh', ['-c', 'echo $$; exec sleep 60'], ${JSON.stringify({ logFile: log, removes: removed })});
       setInterval(() => {}, 60_000);`,
    );
    const starter = spawn(process.execPath, [script], { stdio: 'ignore' });
    const pid = await pidIn(log);
    starter.kill('SIGKILL');
    await until(() => !isAlive(pid) && !existsSync(removed));
  });
});

describe('kubeAssets()', () => {
  it('finds no programs unless they are requested, and says how to get them', () => {
    expect(kubeAssets({})).toMatchObject({
      found: undefined,
      reason: expect.stringMatching(/KUBEBUILDER_ASSETS is not set.*build\.sh/),
    });
  });

  it('names the programs that a folder lacks', () => {
    expect(kubeAssets({ KUBEBUILDER_ASSETS: '/nowhere' })).toMatchObject({
      found: undefined,
      reason: expect.stringContaining(
        'etcd, etcdutl, kube-apiserver, kube-controller-manager, kubectl not found in "/nowhere"',
      ),
    });
  });
});

async function pidIn(logFile: string): Promise<number> {
  let pid = 0;
  await until(() => {
    pid = existsSync(logFile) ? Number.parseInt(readFileSync(logFile, 'utf8'), 10) : 0;
    return pid > 0;
  });
  return pid;
}

function isAlive(pid: number): boolean {
  try {
    // A zombie process has ended; only its parent has not read the exit code yet.
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(systemClock, pollMs);
}
