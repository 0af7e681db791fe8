// Runs hostward check on files in memory.
import { runCommandLine } from '../../../../src/cli/command-line.ts';
import type { Context } from '../../../../src/cli/line/context.ts';
import { type SceneOptions, scene } from '../../scene.ts';

export async function check(options: SceneOptions & Pick<Context, 'openSandbox'>, ...argv: string[]) {
  const { openSandbox } = options;
  const { context, out, err } = scene(options);
  const code = await runCommandLine({ ...context, ...(openSandbox && { openSandbox }) }, ['check', ...argv]);
  return { code, out: out(), err: err() };
}

export const named = ['--vcluster-name', 'vc', '--host-namespace', 'vcluster-vc'];

export const own = 'hostward:\n  endpoints: {enabled: true}\n';
