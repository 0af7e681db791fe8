// `hostward demo`: shows the main job without any set-up, live or as a story that checks itself. In: options and a context.
// Out: a table or lines, kubeconfigs, and an exit code that says whether every step of the story passed.

import { showLive } from './demo/demo-live.ts';
import { story } from './demo/demo-story.ts';
import { Theatre } from './demo/demo-theatre.ts';
import { playStep, type StepOutcome } from './demo/story-runner.ts';
import { type Context, type ExitCode, exitCodes } from './line/context.ts';
import type { Options } from './line/parse-arguments.ts';

export async function demo(context: Context, options: Options): Promise<ExitCode> {
  const theatre = new Theatre(context, { folder: options.text('folder') ?? '.hostward' });
  const over = new AbortController();
  // From the first moment to the last, so that neither an early Ctrl-C nor a second one leaves keys behind.
  context.onSignal('leave', () => over.abort());
  // The try begins before open(), so that a half-opened demo is closed too.
  try {
    await theatre.open();
    await theatre.startDaemon();
    const isJson = options.choice('output') === 'json';
    return options.has('once')
      ? await playStory(theatre, isJson, over.signal)
      : await showLive(theatre, { isJson, over: over.signal });
  } finally {
    await theatre.close();
  }
}

async function playStory(theatre: Theatre, isJson: boolean, over: AbortSignal): Promise<ExitCode> {
  const { context } = theatre;
  const stage = {
    clients: { virtual: theatre.client('virtual'), host: theatre.client('host') },
    clock: context.clock,
    startDaemon: () => theatre.startDaemon(),
    stopDaemon: () => theatre.stopDaemon(),
  };
  let failed = 0;
  for (const [index, step] of story.entries()) {
    if (over.aborted) {
      if (!isJson) context.stdout.write(`stopped before step ${index + 1}\n`);
      return exitCodes.environment;
    }
    const outcome = await playStep(stage, step);
    context.stdout.write(isJson ? jsonLine(outcome) : textLine(outcome, index + 1));
    if (outcome.differences.length === 0) continue;
    failed++;
    // Later steps build on earlier steps, so they cannot pass after a failure.
    break;
  }
  if (!isJson) {
    context.stdout.write(failed === 0 ? `all ${story.length} steps passed\n` : 'a step failed\n');
  }
  return failed === 0 ? exitCodes.fine : exitCodes.input;
}

function textLine({ step, tookMs, differences }: StepOutcome, number: number): string {
  const verdict = differences.length === 0 ? 'ok  ' : 'FAIL';
  const details = differences.map((difference) => `        ${difference}\n`).join('');
  return `${verdict} ${number}. ${step.says} (${Math.round(tookMs)} ms)\n${details}`;
}

function jsonLine({ step, tookMs, differences }: StepOutcome): string {
  return `${JSON.stringify({ step: step.says, ok: differences.length === 0, tookMs: Math.round(tookMs), differences })}\n`;
}
