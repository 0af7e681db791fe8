// This room holds the code that runs inside an isolate, and this file joins it: guards, bounded builtins, hardening, and the loop
// over a request. In: the lists of the builtins that stay, and the limits. Out: one script that returns the entry points of the
// realm (offer, begin, take, run). This room must never know the meaning of a value.
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

/** The complete set-up of a sandbox: texts and numbers only, so that it can cross a pipe as JSON. */
export interface SandboxSetup {
  harness: string;
  /** The generated code of each expression: the body of a function of value, valueExists and context. */
  expressions: readonly string[];
  /** Names and sources of further functions. Each source is a factory that gets the tools of the realm and returns the function. */
  functions: readonly (readonly [name: string, source: string])[];
  /** JSON of context.vcluster. */
  vcluster: string;
  memoryLimitMb: number;
  timeoutMs: number;
  callsPerIsolate: number;
}

/** Guards never nest this deep, so a trace always contains a frame of the expression. */
const tracedFrames = 10;

/** traces: faults carry the offset of the throw. Errors then have a stack, so traces are only for a second try after a fault. */
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
    // One source for both sides: the inspection weighs the literals of an expression, the realm the patterns made from values.
    // Assigned to a constant, because a bundler may rename the function.
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
