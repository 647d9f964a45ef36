// Calls the program for everything that is not the language server's: lists, details, switches, patches.
"use strict";

const { execFile } = require("node:child_process");

const MAX_BYTES = 32 * 1024 * 1024;

/** Runs `dispatch` with arguments in a folder; its standard output, or an error with what it said. */
function run({ command, args, cwd, log }, words) {
  return new Promise((resolve, reject) => {
    log?.(`${command} ${[...args, ...words].join(" ")}`);
    execFile(command, [...args, ...words], { cwd, maxBuffer: MAX_BYTES }, (error, stdout, stderr) => {
      // Exit status 1 is an answer ("no"); what is printed says which.
      if (error && (typeof error.code !== "number" || error.code > 1)) {
        reject(new Error(stderr.trim() || error.message));
      } else {
        resolve(stdout);
      }
    });
  });
}

/** The same for what prints JSON. */
async function json(program, words) {
  return JSON.parse(await run(program, [...words, "--json"]));
}

module.exports = { json, run };
