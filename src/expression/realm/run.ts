// Code that runs inside the isolate: takes a request, runs its expressions over its values and returns one answer. Every result and
// every thrown value is checked here, within the time limit, and leaves as a copy in JSON.

export const realmRun = `
// Needs no check for cycles or prototypes, because the data comes from JSON.
const freezeData = (root) => {
  const pending = [root];
  while (pending.length > 0) {
    const part = pending[pending.length - 1];
    pending.length -= 1;
    if (typeof part !== 'object' || part === null) continue;
    freeze(part);
    const names = objectKeys(part);
    for (let at = 0; at < names.length; at++) pending[pending.length] = part[names[at]];
  }
  return root;
};

const wrongType = (message) => fail('type', message);
const textResult = (text, most) => (text.length > most ? tooBig('result', most + ' characters') : text);
const hasWholeTexts = (x) => {
  if (typeof x === 'string') return isWellFormed(x);
  if (typeof x !== 'object' || x === null) return true;
  const names = objectKeys(x);
  for (let at = 0; at < names.length; at++) {
    if (!isWellFormed(names[at]) || !hasWholeTexts(x[names[at]])) return false;
  }
  return true;
};
const ownCopy = (x, state, depth) => {
  if (typeof x === 'string') {
    state.chars += x.length;
    if (state.chars > limits.text) tooBig('result', limits.text + ' characters');
    return textResult(x, limits.text);
  }
  if (x === null || x === undefined || typeof x === 'boolean') return x;
  if (typeof x === 'number') return x - x === 0 ? x : wrongType('result holds a number that JSON cannot hold: ' + x);
  if (typeof x !== 'object') return wrongType('result holds a ' + typeof x + ', wanted data');
  if (depth > limits.resultDepth) tooBig('result', limits.resultDepth + ' levels');
  if (isArray(x)) {
    if (x.length > limits.resultUnits) tooBig('result', limits.resultUnits + ' values');
    const out = [];
    for (let at = 0; at < x.length; at++) {
      spend(state);
      const part = ownCopy(x[at], state, depth + 1);
      out[at] = part === undefined ? null : part;
    }
    return out;
  }
  if (!isMap(x)) return wrongType('result is or holds an object of a class (Date, Map, RegExp …), wanted data');
  // Without a prototype, because a frozen prototype would refuse keys like valueOf.
  const out = { __proto__: null };
  const names = objectKeys(x);
  for (let at = 0; at < names.length; at++) {
    const name = names[at];
    if (name === '__proto__') wrongType('result holds the key "__proto__"');
    spend(state);
    state.chars += textResult(name, limits.resultText).length;
    const part = ownCopy(x[name], state, depth + 1);
    if (part !== undefined) out[name] = part;
  }
  return out;
};
const spend = (state) => {
  if (++state.units > limits.resultUnits) tooBig('result', limits.resultUnits + ' values');
};
const resultOf = (x, state) => {
  if (x === undefined || x === null) return null;
  if (typeof x === 'number' && x - x !== 0) return wrongType('result is ' + x + ', wanted a number that JSON can hold');
  if (typeof x === 'function') return wrongType('result is a function, wanted data');
  state.chars = 0;
  state.units = 0;
  const copy = ownCopy(x, state, 0);
  if ((state.budget -= state.chars + state.units) < 0) failOverBudget();
  return copy;
};
const failOverBudget = () => tooBig('all results of the object', limits.results + ' characters');

const kindOf = (thrown) => {
  const kind = typeof thrown === 'object' && thrown !== null ? mapGet(kinds, thrown) : undefined;
  return kind === undefined ? 'threw' : kind;
};
// The realm has no getters and no proxies, so reading a thrown value runs no foreign code.
const messageOf = (thrown) => {
  if (typeof thrown === 'string') return textSlice(thrown, 0, limits.message);
  if (typeof thrown !== 'object' || thrown === null) return 'threw ' + (typeof thrown === 'function' ? 'a function' : NativeString(thrown));
  const { message } = thrown;
  return typeof message === 'string' && message !== '' ? textSlice(message, 0, limits.message) : 'threw an object without a message';
};

// Returns the offset of the throw in the code of the expression, or -1. The code of each expression begins a line of its own, and
// a line for the head of its function is before it.
const offsetOfThrow = (thrown, index) => {
  if (tracedFrames === 0 || typeof thrown !== 'object' || thrown === null) return -1;
  try {
    const { stack } = thrown;
    if (typeof stack !== 'string') return -1;
    const name = 'expressions:' + (2 * index + 2) + ':';
    let at = textIndexOf(stack, name, textIndexOf(stack, '\\n    at '));
    if (at < 0) return -1;
    at += name.length;
    let column = 0;
    for (let digit = charCodeAt(stack, at) - 48; digit >= 0 && digit <= 9; digit = charCodeAt(stack, ++at) - 48) {
      column = column * 10 + digit;
    }
    return column - 1;
  } catch {
    return -1;
  }
};

const functions = [];
let vcluster = null;
// exists is 0 when all values exist, and paths is 0 when the expression does not read its path.
const runGroup = (index, values, exists, paths, shared, state) => {
  const f = functions[index], isPlain = exists === 0 && paths === 0;
  const { hostObject, virtualObject } = shared;
  // Writes the results over the values: without a compiler, growing a new list takes as long as a simple expression.
  const results = values, faults = [];
  const count = values.length, mostChars = limits.resultText;
  // The list of changed indexes is made only when a value did not change: mostly every value changes.
  let changed = 0, written = 0;
  for (let at = 0; at < count; at++) {
    const value = values[at];
    try {
      const context = paths === 0 ? shared : freeze({ vcluster, hostObject, virtualObject, path: paths[at] });
      const result = isPlain ? f(value, true, shared) : f(value, exists === 0 || exists[at] === 1, context);
      let copy = result;
      if (typeof result === 'string') {
        if (result === value) continue;
        if (result.length > mostChars) textResult(result, mostChars);
        if ((state.budget -= result.length) < 0) failOverBudget();
      } else {
        // An object counts as changed even when it is the same object, because the expression may have changed its parts.
        if (typeof result !== 'object' || result === null) {
          if (result === value || (result === undefined && value === null)) continue;
        }
        copy = resultOf(result, state);
      }
      if (written !== at) {
        if (changed === 0) changed = firstNumbers(written);
        changed[written] = at;
      }
      results[written++] = copy;
    } catch (thrown) {
      faults[faults.length] = [at, kindOf(thrown), messageOf(thrown), offsetOfThrow(thrown, index)];
    }
  }
  if (written === count && changed === 0) return results;
  results.length = written;
  return { changed: changed === 0 ? firstNumbers(written) : changed, results, faults };
};
const firstNumbers = (count) => {
  const numbers = [];
  for (let at = 0; at < count; at++) numbers[at] = at;
  return numbers;
};
// Moves results with half a surrogate pair to the faults. answerTo() calls this only when its JSON contains an escaped half.
const wellFormed = (answer) => {
  const isPlain = isArray(answer), results = isPlain ? answer : answer.results;
  const kept = { changed: [], results: [], faults: isPlain ? [] : answer.faults };
  for (let at = 0; at < results.length; at++) {
    const index = isPlain ? at : answer.changed[at];
    if (hasWholeTexts(results[at])) {
      kept.changed[kept.changed.length] = index;
      kept.results[kept.results.length] = results[at];
    } else kept.faults[kept.faults.length] = [index, 'type', 'result holds half of a surrogate pair, wanted text', -1];
  }
  return kept;
};
// The groups follow the two objects: [index, values], or [-1 - index, values, exists, paths] when a value is missing or the
// expression reads its path.
const firstGroup = 2;
const answerTo = (request) => {
  const parsed = parseJson(request);
  if (!isArray(parsed)) throw new AnyFault('the request is no list');
  const shared = freeze({ vcluster, hostObject: freezeData(parsed[0]), virtualObject: freezeData(parsed[1]), path: '' });
  const state = { budget: limits.results, chars: 0, units: 0 };
  // Writes the answers over the request too: a group takes at least two places, and its answer one.
  const answers = parsed;
  let count = 0;
  for (let at = firstGroup; at < parsed.length; count++) {
    const index = parsed[at++], values = parsed[at++];
    if (index >= 0) answers[count] = runGroup(index, values, 0, 0, shared, state);
    else answers[count] = runGroup(-1 - index, values, parsed[at++], parsed[at++], shared, state);
  }
  answers.length = count;
  const json = stringifyJson(answers);
  if (textIndexOf(json, '\\\\ud') < 0) return json;
  for (let at = 0; at < answers.length; at++) answers[at] = wellFormed(answers[at]);
  return stringifyJson(answers);
};
// One message for each group, because a fault for each value could itself be too large for an answer.
const tooLargeFor = (request) => {
  const parsed = parseJson(request), answers = [];
  const message = 'all results of the object are larger than ' + limits.answer + ' characters of JSON';
  for (let at = firstGroup; at < parsed.length; at += parsed[at] >= 0 ? 2 : 4) {
    answers[answers.length] = { changed: [], results: [], faults: message };
  }
  return stringifyJson(answers);
};
// Takes and returns lists, because no memory limit counts a bare text of more than 1 KiB that enters or leaves the isolate.
const run = (requests) => {
  let charsLeft = limits.answer;
  for (let at = 0; at < requests.length; at++) {
    const answer = answerTo(requests[at]);
    if ((charsLeft -= answer.length) >= 0) requests[at] = answer;
    else if (requests.length > 1) return [];
    else requests[at] = tooLargeFor(requests[at]);
  }
  return requests;
};
const offer = (name, factory) => {
  if (typeof factory !== 'function') throw new AnyFault('function ' + name + ' has no source that gives a function');
  const f = factory({ sha256Hex });
  defineProperty(globals, name, { value: f, writable: false, enumerable: false, configurable: true });
  keptGlobals.push(name);
  seeds.push(f);
};
const begin = (text) => {
  vcluster = freezeData(parseJson(text));
  harden();
};
const take = (list, count) => {
  if (!isArray(list) || list.length !== count) throw new AnyFault('the list of expressions is not what was sent');
  for (let at = 0; at < count; at++) functions[at] = freeze(list[at]);
};
`;
