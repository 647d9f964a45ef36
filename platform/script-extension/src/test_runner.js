import { tests } from "dispatch:test";
import "./ENTRY";

export const names = () => tests.map((test) => test.name);

export const run = async (at) => {
  await tests[at].run();
  return null;
};
