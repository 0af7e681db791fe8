// `hostward run` with a fake daemon, which records its calls.
import { expect } from 'vitest';
import type { Daemon, DaemonOptions, Started } from '../../../src/daemon/options/daemon-options.ts';
import { settle } from '../../virtual-clock.ts';
import { type Scene, scene } from '../scene.ts';

export interface Stage extends Scene {
  calls: string[];
  daemon: Daemon;
  options(): DaemonOptions;
  end(why: string): void;
}

/** A fake daemon that records its calls. */
export function stage(
  started: Started | Promise<Started> = { kind: 'started' },
  yaml = 'hostward: {listen: "127.0.0.1:0"}\n',
  { columns }: { columns?: number } = {},
): Stage {
  const calls: string[] = [];
  let given: DaemonOptions;
  let end: (why: string) => void = () => {};
  const daemon: Daemon = {
    start: async () => {
      calls.push('start');
      return started;
    },
    stop: async () => void calls.push('stop'),
    apply: (settings) => {
      calls.push(`apply backSync=${settings.backSync}`);
      return { needsRestart: [], inForce: Promise.resolve(true) };
    },
    rereadKubeconfigs: () => undefined,
    ended: new Promise((resolve) => {
      end = resolve;
    }),
    health: () => ({ isHealthy: true, lines: [] }),
    readiness: () => ({ isReady: true, lines: [], parts: [] }),
    status: () => ({}),
    objects: () => [],
    objectStatus: () => undefined,
    pageFacts: {
      changes: () => '',
      lastHour: () => [],
      kinds: () => [],
      page: async () => ({ rows: [], matching: 0, hasBefore: false, hasAfter: false }),
      details: async () => ({ objects: [], contents: [], lookedAt: [], unread: [] }),
      contents: () => [],
      unread: () => [],
    },
  };
  const made = scene({
    ...(columns !== undefined && { columns }),
    files: { '/home/v.yaml': yaml },
    daemonModule: {
      assembleDaemon: (options) => {
        given = options;
        return daemon;
      },
    },
  });
  return { ...made, calls, daemon, options: () => given, end: (why) => end(why) };
}

export const argv = ['run', '-c', 'v.yaml', '--vcluster-name', 'vc', '--host-namespace', 'n'];

export async function until(isTrue: () => boolean): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!isTrue() && performance.now() < endMs) await settle(1);
  expect(isTrue()).toBe(true);
}

export function messages(of: Stage): string[] {
  return of
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).msg);
}

export function logged(of: Stage): Record<string, unknown>[] {
  return of
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
