// Renders cases as the playground does, with one sandbox process for all tests of a file.
import { afterAll } from 'vitest';
import { emptyDraft, type RenderDraft, renderCase } from '../../../../src/cli/offline/playground/render-case.ts';
import { type Clock, systemClock } from '../../../../src/clock.ts';
import { SharedSandbox } from '../../../../src/expression/sandbox/shared-sandbox.ts';
import { silentLog } from '../../../../src/log.ts';
import type { PlaygroundCase } from '../../../../src/pages/playground-api.ts';

export const sandbox = new SharedSandbox({ clock: systemClock, log: silentLog, nodePath: process.execPath });

/** Call it at the top of a file of tests. */
export function setUp(): void {
  afterAll(() => sandbox.stop());
}

/** Samples are tried for a second; on a busy machine that would be too short, and the tests are not about it. */
const patientClock: Clock = {
  ...systemClock,
  now: () => systemClock.now() / 20,
  after: (ms, run) => systemClock.after(ms * 20, run),
};

export async function render(given: Partial<PlaygroundCase>): Promise<RenderDraft> {
  const draft = emptyDraft();
  const means = { clock: patientClock, nodePath: process.execPath, openSandbox: sandbox.open };
  await renderCase(means, { config: '', virtual: endpoints, ...given }, draft);
  return draft;
}

export const endpoints = `apiVersion: v1
kind: Endpoints
metadata:
  name: db
  namespace: shop
  labels: {team: ada}
subsets:
- addresses:
  - ip: 10.0.0.1
  ports:
  - port: 5432
`;

export const list = (expression: string, rest = '') =>
  `- path: metadata.labels["team"]\n  expression: ${expression}\n${rest}`;
