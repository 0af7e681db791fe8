// The thread of the playground: one evaluation after the other. In: a kind and the body of a request. Out: an answer as JSON, or a
// sentence. It has no environment, and reads no cluster, no configuration and no file. Expressions run in a sandbox process of its own.
import { constants, platform, setPriority } from 'node:os';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { pause, systemClock } from '../../../clock.ts';
import { loadConfiguration } from '../../../config/load/load.ts';
import { errorOf } from '../../../expression/evaluate/evaluation-error.ts';
import { ExpressionTrial } from '../../../expression/evaluate/expression-trial.ts';
import type { SandboxSetup } from '../../../expression/realm/harness.ts';
import type { Sandbox } from '../../../expression/sandbox/sandbox.ts';
import { SharedSandbox } from '../../../expression/sandbox/shared-sandbox.ts';
import { silentLog } from '../../../log.ts';
import { isRecord } from '../../../object/text/json.ts';
import {
  type Evaluated,
  type EvaluationKind,
  type Mark,
  type PlaygroundCase,
  playgroundLimits,
  type RenderAnswer,
  type TestAnswer,
  textNames,
} from '../../../pages/playground-api.ts';
import { safeText } from '../../../safe-text.ts';
import { exampleNames, requireGood } from '../../line/load-settings.ts';
import { type EvalAnswer, EvalSession, evalRequestOf } from '../eval-session.ts';
import { emptyDraft, renderCase } from './render-case.ts';
import { testFiles } from './test-files.ts';

export interface EvaluationThreadData {
  nodePath: string;
  /** The process has other work, which goes first. */
  isSecond: boolean;
}

export type ToThread = { kind: EvaluationKind; body: string } | { kind: 'stop' };
export type FromThread = { kind: 'ready' } | Answered;
type Answered = Exclude<Evaluated, { kind: 'busy' }>;

const { nodePath, isSecond } = workerData as EvaluationThreadData;
// On Linux of this thread alone, and of the processes that it starts. Elsewhere it would be that of the whole daemon.
if (isSecond && platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const port = parentPort as MessagePort;
const clock = systemClock;
const sandbox = new SharedSandbox({ clock, log: silentLog, nodePath });
const means = { clock, nodePath, openSandbox };
/** Whether the time of the present evaluation is over. */
let isOver = false;

const evaluators: Record<EvaluationKind, (request: Record<string, unknown>) => Promise<Answered>> = {
  render: renderTexts,
  test: testTexts,
  eval: evaluateExpression,
};

/** After its time nothing of an evaluation runs any more, however much of it is left: it ends as what ran out of time. */
function openSandbox(setup: SandboxSetup): Sandbox {
  const timeout = { kind: 'timeout' } as const;
  const opened = isOver ? undefined : sandbox.open(setup);
  return {
    start: async () => opened?.start(),
    stop: async () => opened?.stop(),
    run: async (text, options) => {
      if (isOver || opened === undefined) return timeout;
      const outcome = await opened.run(text, options);
      return isOver && outcome.kind === 'unavailable' ? timeout : outcome;
    },
  };
}

async function evaluate(kind: EvaluationKind, body: string): Promise<Answered> {
  isOver = false;
  let request: unknown;
  try {
    request = JSON.parse(body);
  } catch {
    return wrong('the body is not JSON');
  }
  return isRecord(request) ? evaluators[kind](request) : wrong('wanted a JSON object as the body');
}

async function renderTexts(request: Record<string, unknown>): Promise<Answered> {
  for (const name of textNames) {
    const text = request[name];
    const isWanted = name === 'config' || name === 'virtual';
    if (typeof text !== 'string' && (isWanted || text !== undefined)) return wrong(`wanted "${name}" as a text`);
  }
  const began = clock.now();
  const draft = emptyDraft();
  const isInTime = await inTime(renderCase(means, request as unknown as PlaygroundCase, draft));
  if (!isInTime) draft.marks = marksOfLate(draft.marks);
  return answer({ ...draft, tookMs: Math.round(clock.now() - began) } satisfies RenderAnswer);
}

/** Its sandbox was taken away from the patch that ran, which therefore has a mark already. */
function marksOfLate(marks: readonly Mark[]): Mark[] {
  const isOfPatch = ({ code }: Mark) => code === 'PATCH_FAILED';
  if (marks.some(isOfPatch))
    return marks.map((mark) => ({ ...mark, message: mark.message.replace(/the sandbox .*$/, tooLong) }));
  const whole = { text: 'config', severity: 'fault', code: 'EVALUATION_TIME', line: 1, column: 1 } as const;
  return [...marks, { ...whole, message: tooLong }];
}

async function testTexts({ files, update = false }: Record<string, unknown>): Promise<Answered> {
  if (!isRecord(files) || !Object.values(files).every((text) => typeof text === 'string'))
    return wrong('wanted "files" as a map of texts');
  const asked = testFiles(means, { files: files as Record<string, string>, update: update === true });
  if (await inTime(asked)) return answer(await asked);
  // As of a case that fails.
  const problems = [{ what: 'evaluation', text: tooLong }];
  return answer({ problems, updated: [], files: files as Record<string, string> } satisfies TestAnswer);
}

async function evaluateExpression(said: Record<string, unknown>): Promise<Answered> {
  const flags = exampleNames;
  const { settings } = requireGood(loadConfiguration({ files: [], flags, environment: {} }));
  const nothing = { value: undefined, valueExists: undefined, path: undefined, object: undefined };
  const request = evalRequestOf(said, { expression: '', ...nothing, hostObject: undefined, isBack: false });
  if (!('expression' in request)) return answer(request);
  if (said['expression'] === undefined) return wrong('wanted "expression" as a text, found none');
  const session = new EvalSession(means, settings);
  const asked = session.answer(request);
  return answer((await inTime(asked)) ? await asked : unfinished(await asked));
}

/** Its sandbox was taken away: what has no value has none for want of time. */
function unfinished(answer: EvalAnswer): EvalAnswer {
  const error = errorOf({ kind: 'timeout' });
  if (!('matches' in answer)) return { error };
  return { matches: answer.matches.map((one) => ('value' in one ? one : { path: one.path, error })) };
}

const tooLong = `the evaluation took longer than ${playgroundLimits.evaluationMs / 1_000} seconds; make the texts smaller, or mend the expressions that take long`;

/** False when the time is over: the sandbox has then been stopped, so that what is left of the work ends too. */
async function inTime(work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const isDone = await Promise.race([
    work.then(() => true),
    pause(clock, playgroundLimits.evaluationMs, over.signal).then(() => false),
  ]).finally(() => over.abort());
  if (isDone) return true;
  isOver = true;
  await sandbox.stop();
  await work.catch(() => {});
  return false;
}

function answer(value: unknown): Answered {
  return { kind: 'answer', json: safeText(JSON.stringify(value)) };
}

function wrong(message: string): Answered {
  return { kind: 'wrong', message };
}

// The first start takes longer than a person waits, and should not count as the time of an evaluation.
const warm = new ExpressionTrial({ ...means, log: silentLog, vcluster: { name: '', namespace: '', config: {} } });
await warm.try('1', { value: null });
port.postMessage({ kind: 'ready' } satisfies FromThread);

// Last, because messages wait for their listener.
port.on('message', async (message: ToThread) => {
  if (message.kind === 'stop') {
    await sandbox.stop();
    return port.close();
  }
  const answer = await evaluate(message.kind, message.body).catch((fault: unknown): Answered => {
    const said = fault instanceof Error ? fault.message : String(fault);
    return { kind: 'failed', message: `the evaluation failed: ${said}` };
  });
  port.postMessage(answer);
});
