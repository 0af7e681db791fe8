// Puts together the code that runs inside an isolate: guards, bounded builtins, hardening, the loop over a request. In: the
// lists of what is kept, the limits. Out: one script whose value is the way in. It must never know what a value means.
import { globalFunctions, keptMethods, keptStatics, machineryNames } from '../language/builtins.ts';
import { patternWeight } from '../language/pattern-weight.ts';
import { realmLimits } from '../limits.ts';
import { realmArrays } from './arrays.ts';
import { realmData } from './data.ts';
import { realmFunctions } from './functions.ts';
import { realmGuards } from './guards.ts';
import { realmHardening } from './hardening.ts';
import { realmRun } from './run.ts';
import { realmTexts } from './texts.ts';

/** Everything a sandbox needs to know to run: texts only, so that it can cross a pipe. */
export interface SandboxSetup {
  harness: string;
  /** One body of a function of value, valueExists and context for each expression. */
  expressions: readonly string[];
  /** Name and source of the functions that the realm offers besides its own; each gives a function when called with tools. */
  functions: readonly (readonly [name: string, source: string])[];
  /** JSON of context.vcluster. */
  vcluster: string;
  memoryLimitMb: number;
  timeoutMs: number;
  callsPerIsolate: number;
}

/** Guards call each other, but not this deep: one of the frames is the expression's. */
const tracedFrames = 10;

/** traces: faults say where in the code they were thrown. Errors then carry a stack, so only for one try after a fault. */
export function harnessSource({ traces = false } = {}): string {
  const data = {
    limits: realmLimits,
    tracedFrames: traces ? tracedFrames : 0,
    keptStatics: Object.fromEntries(keptStatics),
    keptMethods: Object.fromEntries(keptMethods),
    globalFunctions,
    machineryNames: [...machineryNames],
  };
  const constants = Object.entries(data).map(([name, value]) => `const ${name} = ${JSON.stringify(value)};`);
  const parts = [
    // One text for both sides: a literal is judged when the configuration is read, a pattern from a value when it is made.
    // As a value, because a bundler may give the function another name.
    `const patternWeight = ${patternWeight};`,
    realmGuards,
    realmArrays,
    realmTexts,
    realmData,
    realmFunctions,
    realmHardening,
    realmRun,
    'return { offer, begin, take, run };',
  ];
  return `(function () { 'use strict';\n${constants.join('\n')}\n${parts.join('\n')}\n})()`;
}
