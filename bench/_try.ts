import { savingCost } from "./lib/saving-cost.ts"; import { print } from "./lib/report.ts"; print(await savingCost());
