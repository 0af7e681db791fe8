import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { globalFunctions, keptMethods, keptStatics } from '../../src/expression/language/builtins.ts';
import { harnessSource, type SandboxSetup } from '../../src/expression/realm/harness.ts';
import { HardenedIsolate } from '../../src/expression/sandbox/isolate.ts';
import { processorMs } from '../own-time.ts';
import { compiled } from './evaluator-fixture.ts';

const timeoutMs = 2_000;

// These tests run code in the bare realm: without the inspection, and without the guards that the generator adds.
function open(code: string, options: Partial<SandboxSetup> = {}): HardenedIsolate {
  const setup: SandboxSetup = {
    harness: harnessSource(),
    expressions: [code],
    functions: [],
    vcluster: '{"name":"n","config":{"list":[1]}}',
    memoryLimitMb: 32,
    timeoutMs,
    callsPerIsolate: 1_000,
    ...options,
  };
  const onCatastrophe = (message: string) => {
    throw new Error(message);
  };
  const cpuMs = () => performance.now();
  const home = createRequire(import.meta.url).resolve('isolated-vm');
  return new HardenedIsolate({ setup, home, cpuMs, onCatastrophe });
}

/** Runs once and measures the time without the build of the realm. */
function timed(code: string, options: Partial<SandboxSetup>): { kind: string; tookMs: number } {
  const isolate = open(code, options);
  isolate.start();
  const beganAt = processorMs();
  const { kind } = isolate.run([JSON.stringify([null, null, 0, ['v']])], options.timeoutMs ?? timeoutMs);
  const tookMs = processorMs() - beganAt;
  isolate.stop();
  return { kind, tookMs };
}

function raw(code: string, functions: SandboxSetup['functions'] = []): unknown {
  const isolate = open(code, { functions });
  isolate.start();
  try {
    const outcome = isolate.run([JSON.stringify([null, { labels: { a: 1 } }, 0, ['v']])], timeoutMs);
    if (outcome.kind !== 'answer') return outcome.kind;
    const [answer] = JSON.parse(outcome.texts[0] as string);
    // For an unchanged value the answer has neither a result nor a fault.
    if (Array.isArray(answer)) return answer[0];
    const [fault] = answer.faults;
    return fault === undefined ? answer.results[0] : `${fault[1]}: ${fault[2]}`;
  } finally {
    isolate.stop();
  }
}

/** Walks every reachable object with Reflect functions that it saved before the hardening deleted Reflect. */
const audit = `() => {
  const { getPrototypeOf, ownKeys, getOwnPropertyDescriptor, isExtensible } = Reflect;
  const globals = globalThis;
  return (seeds) => {
    const own = new Set(seeds);
    const seen = new Set();
    const open = seeds.map((seed, at) => [seed, 'seed ' + at]);
    open.push([globals, 'globals']);
    const problems = [];
    const methods = [];
    while (open.length > 0) {
      const [x, path] = open.pop();
      if ((typeof x !== 'object' && typeof x !== 'function') || x === null || seen.has(x)) continue;
      seen.add(x);
      const isOwn = own.has(x) || false;
      if (!isOwn && isExtensible(x)) problems.push(path + ' can be extended');
      for (const key of ownKeys(x)) {
        const property = getOwnPropertyDescriptor(x, key);
        const name = path + '.' + String(key);
        if (!isOwn && (property.configurable || property.writable)) problems.push(name + ' can be changed');
        if (!isOwn && key === 'constructor') problems.push(name + ' is there');
        if (typeof property.value === 'function') methods.push(String(key));
        open.push([property.value, name], [property.get, name], [property.set, name]);
      }
      open.push([getPrototypeOf(x), path + '.__proto__']);
    }
    return { problems, methods, size: seen.size };
  };
}`;

const seeds = [
  ...['[]', '({})', 'Object("")', 'Object(1)', 'Object(true)', '/x/', '() => 1', 'new Error("e")', 'new Map()'],
  ...[
    'new Set()',
    '[].values()',
    '""[["matchAll"][0]](/x/g)',
    'new Map().entries()',
    'new Set().values()',
    '"".match(/x/) ?? []',
  ],
  ...['new Date(0)', 'context', 'Object(1n)', '(() => { try { null.x } catch (e) { return e } })()', '((t) => t)`x`'],
  ...['(function* () {})()', '(async () => 1)()', '(async function* () {})()'],
  ...['later; let later', 'decodeURIComponent("%")', 'JSON.parse("{")', '"x".normalize("x")'].map(
    (code) => `(() => { try { ${code} } catch (e) { return e } })()`,
  ),
];

describe('building a realm', () => {
  it('has more time than an expression, because a busy machine can use up the limit of an expression', () => {
    const isolate = open('value', { timeoutMs: 1 });
    for (let turn = 0; turn < 5; turn++) {
      expect(() => isolate.start()).not.toThrow();
      isolate.stop();
    }
  });
});

describe('code that converts long texts', () => {
  const many = (part: string, count: number) => `[${Array(count).fill(part).join()}]`;
  const parts = [
    many('+v', 700),
    many('v-1', 600),
    many('v<1', 600),
    many('v==1', 600),
    many('isNaN(v)', 350),
    many('v.at(v)', 250),
    many('(v?.at)(v)', 200),
    many('new Set(v)', 250),
    'Math.max(...Array(9000).fill(v))',
    'Math.hypot(...Array(9000).fill(v))',
    'String.fromCharCode(...Array(9000).fill(v))',
    'Object.assign({}, ...Array(9000).fill(Array(100000).fill(1)))',
  ];

  it.each(parts.map((part) => [part.slice(0, 40), part]))('is stopped in time: %s', (_, part) => {
    const { code } = compiled(`((v) => ${part})("9".repeat(1e6))`);
    const { kind, tookMs } = timed(code, { timeoutMs: 20 });
    expect(kind).toBe('timeout');
    // Without the guards most cases would take a second, and some would take hours.
    expect(tookMs).toBeLessThan(500);
  });
});

describe('an argument that changes with every conversion', () => {
  /** Names of the calls that convert one of their arguments more than once. `calls` is the source of [name, function] pairs. */
  const oftenConverted = (calls: string): unknown =>
    raw(`(() => {
      const often = [];
      for (const [name, call] of ${calls}) for (let place = 0; place < 3; place++) {
        let count = 0;
        const odd = { valueOf: () => (count++, 1), toString: () => (count++, '1') };
        const args = ['1', '2', '3'].slice(0, place).concat([odd]);
        try { call(args); } catch {}
        if (count > 1) often.push(name + ', argument ' + place);
      }
      return often;
    })()`);

  // A builtin that checks one conversion and hands the argument on works with another text or number than the one it checked.
  it.each([
    ['Array', '["1", "3", "1", "2"]'],
    ['String', '"1,3,1,2"'],
    ['Number', '1.5'],
    ['RegExp', '/1/g'],
    ['Date', 'new Date(5)'],
  ])('is converted once by every method of %s', (name, subject) => {
    const names = (keptMethods.get(name) ?? []).filter((one) => !one.startsWith('@@'));
    expect(
      oftenConverted(`${JSON.stringify(names)}.map((name) => [name, (args) => (${subject})[name](...args)])`),
    ).toEqual([]);
  });

  it('is converted once by every function that expressions may call', () => {
    const callees = [
      ...[...keptStatics].flatMap(([name, statics]) => statics.map((one) => `${name}.${one}`)),
      ...globalFunctions,
      ...['RegExp', 'new Date', 'new Array', 'String', 'Number', 'atob', 'btoa'],
    ];
    const calls = callees.map((callee) => `[${JSON.stringify(callee)}, (args) => ${callee}(...args)]`);
    expect(oftenConverted(`[${calls.join()}]`)).toEqual([]);
  });
});

describe('a loop without a call', () => {
  const loops = [
    'for (;;) +a',
    'while (true) +a',
    'do +a; while (true)',
    'for (const x of [..."ab".repeat(40000)]) +a',
  ];

  it.each(loops)('is stopped in time although each operator takes a millisecond: %s', (loop) => {
    const { code } = compiled(`(() => { const a = "9".repeat(1e6); ${loop} })()`);
    const { kind, tookMs } = timed(code, { timeoutMs: 50 });
    expect(kind).toBe('timeout');
    // Without the guards the loop would take seven times as long on a quiet machine.
    expect(tookMs).toBeLessThan(1_000);
  });
});

describe('the realm', () => {
  it('has only frozen objects and no path to a constructor', () => {
    const found = raw(`audit([${seeds.join(',')}])`, [['audit', audit]]) as {
      problems: string[];
      methods: string[];
      size: number;
    };
    expect(found).toBeTypeOf('object');
    // The seeds themselves and the prototypes of their generators belong to the expression, so they need not be frozen.
    const ofGenerators = /^seed (20|22)\.__proto__ can be extended$/;
    expect(found.problems.filter((problem) => !ofGenerators.test(problem))).toEqual([]);
    expect(found.size).toBeGreaterThan(200);
    const allowed = new Set([...keptStatics.values(), ...keptMethods.values()].flat());
    const others = ['next', 'get', 'set', 'toString', 'Symbol(Symbol.iterator)', 'audit', ...keptStatics.keys()];
    const more = ['atob', 'btoa', 'parseInt', 'parseFloat', 'isNaN', 'isFinite', 'value', 'callee', 'length'];
    const unknown = found.methods.filter(
      (name) => !allowed.has(name) && !others.includes(name) && !more.includes(name),
    );
    expect([...new Set(unknown)].filter((name) => !/^\$\$|^Symbol\(|^(en|de)codeURI/.test(name))).toEqual([]);
  });

  const unreachable = [
    '(() => 1).constructor',
    '(function* () {}).constructor',
    '(async () => 1).constructor',
    '[].constructor',
    '"".constructor',
    'value["constr" + "uctor"]',
    'typeof eval',
    'typeof Function',
    'typeof globalThis',
    'typeof Reflect',
    'typeof Proxy',
    'typeof Symbol',
    'typeof Promise',
    'typeof WebAssembly',
    'typeof SharedArrayBuffer',
    'typeof Intl',
    'typeof console',
    'typeof process',
    'typeof require',
    '({}).__proto__',
    '(function () { return this })()',
    'Object.getPrototypeOf',
    'Object.defineProperty',
    'Error.captureStackTrace',
    'new Error("x").stack',
    '/x/.compile',
    'RegExp.$1',
    'Math.random',
    'Date.now',
  ];
  it.each(unreachable)('does not offer %s', (code) => {
    expect([null, 'undefined']).toContain(raw(code) ?? null);
  });

  const refused: [code: string, message: RegExp][] = [
    ['(Array.prototype.map = 1)', /read only/],
    ['(Object.prototype.x = 1)', /not extensible/],
    ['(context.x = 1)', /not extensible/],
    ['(context.virtualObject.labels.a = 2)', /read only/],
    ['context.vcluster.config.list.push(2)', /not extensible/],
    ['delete Math.max', /Cannot delete/],
    ['(globalX = 1)', /not defined/],
    ['[].indexOf.call({ length: 2 ** 53 - 1 }, 1)', /need an array/],
    ['Array.prototype.reverse.call({ length: 2 ** 53 - 1 })', /need an array/],
    ['(() => { const a = []; a.length = 2 ** 32 - 1; return a.join("") })()', /100000 elements/],
    ['Math.max.apply(null, { length: 2 ** 31 })', /need an array/],
    ['new Date()', /clock/],
    ['Date()', /clock/],
    ['import("fs")', /broken/],
  ];
  it.each(refused)('refuses %s', (code, message) => {
    expect(raw(code)).toMatch(message);
  });

  it('fails only the expression that V8 cannot read', () => {
    expect(raw('for')).toBe('threw: V8 cannot read the expression');
    const isolate = open('', { expressions: ['value + 1', 'for', 'value + 3'] });
    const outcome = isolate.run([JSON.stringify([null, null, 0, ['v'], 1, ['v'], 2, ['v']])], timeoutMs);
    isolate.stop();
    const unread = [0, 'threw', 'V8 cannot read the expression', -1];
    const answers = [['v1'], { changed: [], results: [], faults: [unread] }, ['v3']];
    expect(outcome).toEqual({ kind: 'answer', texts: [JSON.stringify(answers)] });
  });

  describe('with several requests in one call', () => {
    const codes = [
      'value + 1',
      'value.a.b',
      'value.slice(0, 1)',
      'value.repeat(2000)',
      'value',
      '(() => { for (;;); })()',
    ];
    const asked = (expression: number, ...values: unknown[]) => JSON.stringify([null, null, expression, values]);
    const short = [
      asked(0, 'a', 'b'),
      asked(1, 'a', { a: { b: 1 } }, {}),
      asked(2, 'a\u{1f600}', '\u{1f600}', 'bb'),
      asked(4, 'same', { list: [null, 1] }),
      '{"no":"request"}',
    ];
    const openAll = (options: Partial<SandboxSetup> = {}) => open('', { expressions: codes, ...options });

    it('answers each as if it came alone', () => {
      const [together, alone] = [openAll(), openAll()];
      const texts = short.slice(0, 4);
      const outcome = together.run(texts, 100);
      const outcomes = texts.map((text) => alone.run([text], 100));
      expect(outcome).toEqual({ kind: 'answer', texts: outcomes.flatMap((one) => ('texts' in one ? one.texts : [])) });
      expect('texts' in outcome && outcome.texts[2]).toContain('half of a surrogate pair');
      for (const isolate of [together, alone]) isolate.stop();
    });

    const failingBatches = [
      ['is malformed', short],
      ['does not end', [asked(0, 'a'), asked(5, 'a')]],
      [
        'makes all answers together too large',
        Array.from({ length: 8 }, () => asked(3, ...'abcdef'.repeat(70).split(''))),
      ],
    ] as const;
    it('ends after the slice of the batch, earlier than the time limit of one request', () => {
      const timeoutMs = 5_000;
      const isolate = openAll({ timeoutMs });
      isolate.start();
      const beganAt = processorMs();
      expect(isolate.run([asked(0, 'a'), asked(5, 'a')], 100)).toEqual({ kind: 'timeout' });
      expect(processorMs() - beganAt).toBeLessThan(timeoutMs / 2);
      isolate.stop();
    });

    it.each(failingBatches)('gives no answer when one of them %s, and still answers later requests', (_, texts) => {
      const isolate = openAll({ timeoutMs: 200 });
      expect(isolate.run(texts, 100).kind).not.toBe('answer');
      expect(isolate.run(texts.slice(0, 1), 200).kind).toBe('answer');
      isolate.stop();
    });
  });

  it('does not start when the code of one expression forms two functions', () => {
    const isolate = open('', { expressions: ['1)), ((value) => (2', 'value'] });
    expect(() => isolate.start()).toThrow('the list of expressions is not what was sent');
  });

  it('gives each function source its own tools', () => {
    const functions: SandboxSetup['functions'] = [
      ['one', '(tools) => { tools.sha256Hex = () => "x"; return () => 1 }'],
      ['two', '(tools) => () => tools.sha256Hex("abc")'],
    ];
    expect(raw('two()', functions)).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
